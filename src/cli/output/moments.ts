import { moment } from '../../service/format.ts';

/** A moment within a sentence: `2026-01-15 10:00:05 Europe/Vienna`. */
export const momentWithZone = (at: number | string | null, timeZone: string): string =>
  at === null ? '' : `${moment(at, timeZone)} ${timeZone}`;

/** Goes below a table, whose columns have no room for the zone. */
export const zoneNote = (timeZone: string): string => `Times are in ${timeZone}.`;
