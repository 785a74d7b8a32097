import { DAY, SECOND } from '../../src/clock.ts';

/** The value of a day column for a row without a date. */
export const NO_DAY = -2147483648;
// Formatting a date takes longer than the rest of a row, and six years of rows share about 2,000 dates.
const dateTexts = new Map<number, string>();
const MAX_DATE_TEXTS = 10_000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Days since 1970-01-01, or NO_DAY if the text is not a calendar date. */
export function dayOf(date: unknown): number {
  if (typeof date !== 'string' || !DATE.test(date)) return NO_DAY;
  const ms = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(ms) || dateOf(ms / DAY) !== date ? NO_DAY : ms / DAY;
}

/** The date of a day number, as YYYY-MM-DD. */
export function dateOf(day: number): string {
  const cached = dateTexts.get(day);
  if (cached !== undefined) return cached;
  const text = new Date(day * DAY).toISOString().slice(0, 10);
  if (dateTexts.size < MAX_DATE_TEXTS) dateTexts.set(day, text);
  return text;
}

/** An ISO 8601 UTC timestamp without fractions, as the API documents it. */
export function stampOf(seconds: number): string {
  return `${new Date(seconds * SECOND).toISOString().slice(0, 19)}Z`;
}
