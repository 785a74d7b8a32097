import { moment } from '../../service/format.ts';

/** A moment in a sentence: `2026-01-15 10:00:05 Europe/Vienna`. */
export const zoned = (at: number | string | null, timeZone: string): string =>
  at === null ? '' : `${moment(at, timeZone)} ${timeZone}`;

/** Where moments stand in columns, which have no room for it, their zone is told once. */
export const timesIn = (timeZone: string): string => `Times are in ${timeZone}.`;
