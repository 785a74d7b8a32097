import { SECOND } from '../../clock.ts';
import { MOST_PAUSES } from '../../engine/agenda/plan.ts';
import { durationText, moment } from '../../service/format.ts';

/** A moment within a sentence: `2026-01-15 10:00:05 Europe/Vienna`. */
export const momentWithZone = (at: number | string | null, timeZone: string): string =>
  at === null ? '' : `${moment(at, timeZone)} ${timeZone}`;

/** Goes below a table, whose columns have no room for the zone. */
export const zoneNote = (timeZone: string): string => `Times are in ${timeZone}.`;

/** A shorter wait is not worth a line. */
export const NOTICED_MS = 2 * SECOND;

/** Waits that end this close to each other are reported once. */
export const SAME_WAIT_MS = 5 * SECOND;

export const limitText = (at: number, timeZone: string): string =>
  `waiting for the request limit until ${momentWithZone(at, timeZone)}`;

/** The source serves fewer requests at once than configured. */
export const crowdedText = (allowed: number, concurrency: number): string =>
  `the source refuses ${concurrency} requests at once; sending at most ${allowed}. To start with that: SOURCE_CONCURRENCY=${allowed}`;

/** A repair waits until answers can no longer lag behind what it has read. */
export const pauseText = (at: number, timeZone: string): string =>
  `answers may not show the latest changes yet; asking again at ${momentWithZone(at, timeZone)}, when answers no longer lag (SOURCE_LAG_SECONDS)`;

/** How long a repair may wait in all, and why; nothing if answers never lag. */
export const lagText = (lagMs: number): string =>
  lagMs === 0
    ? ''
    : ` If rows have gone missing, it waits up to ${durationText((MOST_PAUSES * lagMs) / SECOND)} until answers no longer lag behind the source (SOURCE_LAG_SECONDS=${lagMs / SECOND}; a lower value shortens the wait).`;

/** `came`: what came instead of an answer. */
export const retryText = (came: string, at: number, timeZone: string): string =>
  `${came}; next attempt at ${momentWithZone(at, timeZone)}`;
