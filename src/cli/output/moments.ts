import { SECOND } from '../../clock.ts';
import { MOST_PAUSES } from '../../engine/agenda/plan.ts';
import { durationText, moment } from '../../service/format.ts';

/** A moment within a sentence: `2026-01-15 10:00:05 Europe/Vienna`. */
export const momentWithZone = (at: number | string | null, timeZone: string): string =>
  at === null ? '' : `${moment(at, timeZone)} ${timeZone}`;

/** Goes below a table, whose columns have no room for the zone. */
export const zoneNote = (timeZone: string): string => `Times are in ${timeZone}.`;

/** The source serves fewer requests at once than configured. */
export const crowdedText = (allowed: number, concurrency: number): string =>
  `the source refuses ${concurrency} requests at once; sending at most ${allowed}. To start with that: SOURCE_CONCURRENCY=${allowed}`;

/** How long a repair may wait in all, and why; nothing if answers never lag. */
export const lagText = (lagMs: number): string =>
  lagMs === 0
    ? ''
    : ` If rows have gone missing, it waits up to ${durationText((MOST_PAUSES * lagMs) / SECOND)} until answers no longer lag behind the source (SOURCE_LAG_SECONDS=${lagMs / SECOND}; a lower value shortens the wait).`;
