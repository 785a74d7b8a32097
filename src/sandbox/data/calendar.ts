import { DAY, SECOND } from '../../clock.ts';

/** Stands for "no date" in a column of days. */
export const NO_DAY = -2147483648;
/** Six years of rows have few different dates, and making one takes longer than the rest of a row. */
const texts = new Map<number, string>();
const MOST_TEXTS = 10_000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The day's number since 1970-01-01, or NO_DAY when the text is no calendar date. */
export function dayOf(date: unknown): number {
  if (typeof date !== 'string' || !DATE.test(date)) return NO_DAY;
  const ms = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(ms) || dateOf(ms / DAY) !== date ? NO_DAY : ms / DAY;
}

/** The day's date as YYYY-MM-DD. */
export function dateOf(day: number): string {
  const known = texts.get(day);
  if (known !== undefined) return known;
  const text = new Date(day * DAY).toISOString().slice(0, 10);
  if (texts.size < MOST_TEXTS) texts.set(day, text);
  return text;
}

/** An ISO 8601 UTC time stamp without fractions, as the API documents it. */
export function stampOf(seconds: number): string {
  return `${new Date(seconds * SECOND).toISOString().slice(0, 19)}Z`;
}
