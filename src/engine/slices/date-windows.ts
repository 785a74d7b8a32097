import { DAY } from '../../clock.ts';
import type { DateSlice } from './slice.ts';

/** A plain date, `YYYY-MM-DD`; such texts sort as dates do. */
export type Day = string;

/** The first and the last day that a date of four-digit years can name. */
const FIRST_DAY: Day = '0001-01-01';
const LAST_DAY: Day = '9999-12-31';

/** Goes no further than the first and the last day there are. */
export function addDays(day: Day, days: number): Day {
  const ms = Date.parse(`${day}T00:00:00Z`) + days * DAY;
  const bounded = Math.min(Math.max(ms, Date.parse(FIRST_DAY)), Date.parse(LAST_DAY));
  return new Date(bounded).toISOString().slice(0, 10);
}

/** By zone: making one is slow. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** The day it is at `epochMs` in an IANA zone. */
export function dayIn(epochMs: number, zone: string): Day {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' });
  formats.set(zone, format);
  return format.format(epochMs);
}

export const wholeTime: DateSlice = { by: 'date', from: null, to: null };

const year = (y: number): DateSlice => ({ by: 'date', from: `${pad(y, 4)}-01-01`, to: `${pad(y, 4)}-12-31` });

function lastOfMonth(day: Day): Day {
  const next = addDays(`${day.slice(0, 7)}-28`, 4);
  return next === LAST_DAY ? next : addDays(`${next.slice(0, 7)}-01`, -1);
}

const pad = (n: number, width: number) => String(n).padStart(width, '0');
const since = (from: Day): DateSlice => ({ by: 'date', from, to: null });
const until = (to: Day): DateSlice => ({ by: 'date', from: null, to });

/**
 * Cuts a window one calendar step: all time at the start of this year, an open past at its last year, an open future at the start
 * of this year, this month and today, then after the rest of its year, a year into months, a month into days. Returns null for what dates cannot cut: one day.
 * The parts follow each other without gap or overlap and cover exactly the window.
 */
export function splitWindow(window: DateSlice, today: Day): DateSlice[] | null {
  const { from, to } = window;
  if (from === null && to === null)
    return [until(addDays(`${today.slice(0, 4)}-01-01`, -1)), since(`${today.slice(0, 4)}-01-01`)];
  if (from === null) {
    const last = Number((to as Day).slice(0, 4));
    // Year 1 is the oldest that a date parameter can name.
    if (last <= 1) return null;
    const start = `${pad(last, 4)}-01-01`;
    return [until(addDays(start, -1)), { by: 'date', from: start, to }];
  }
  if (to === null) return splitFuture(from, today);
  if (from === to) return null;
  if (from.slice(0, 4) !== to.slice(0, 4)) return yearsBetween(from, to);
  return from.slice(0, 7) === to.slice(0, 7) ? daysBetween(from, to) : monthsBetween(from, to);
}

function splitFuture(from: Day, today: Day): DateSlice[] | null {
  const thisYear = `${today.slice(0, 4)}-01-01`;
  const thisMonth = `${today.slice(0, 7)}-01`;
  if (from < thisYear) return [...yearsBetween(from, addDays(thisYear, -1)), since(thisYear)];
  if (from < thisMonth) return [...monthsBetween(from, addDays(thisMonth, -1)), since(thisMonth)];
  if (from < today) return [...daysBetween(from, addDays(today, -1)), since(today)];
  if (from === LAST_DAY) return null;
  // The further off, the more at once: rows meant for ever are often dated 9999-12-31.
  const start = Number(from.slice(0, 4));
  const last = Math.min(Math.max(2 * start - Number(today.slice(0, 4)) - 1, start), 9998);
  const end = start <= last ? `${pad(last, 4)}-12-31` : lastOfMonth(from) < LAST_DAY ? lastOfMonth(from) : from;
  return [{ by: 'date', from, to: end }, since(addDays(end, 1))];
}

function yearsBetween(from: Day, to: Day): DateSlice[] {
  return pieces(from, to, day => year(Number(day.slice(0, 4))).to as Day);
}

function monthsBetween(from: Day, to: Day): DateSlice[] {
  return pieces(from, to, lastOfMonth);
}

function daysBetween(from: Day, to: Day): DateSlice[] {
  return pieces(from, to, day => day);
}

function pieces(from: Day, to: Day, lastOf: (day: Day) => Day): DateSlice[] {
  const parts: DateSlice[] = [];
  for (let start = from; ; ) {
    const last = lastOf(start);
    if (last >= to) return [...parts, { by: 'date', from: start, to }];
    parts.push({ by: 'date', from: start, to: last });
    start = addDays(last, 1);
  }
}

/** True when the window holds nothing but days of `from`..`to`. */
export function within(window: DateSlice, from: Day | null, to: Day | null): boolean {
  return (
    (from === null || (window.from !== null && window.from >= from)) &&
    (to === null || (window.to !== null && window.to <= to))
  );
}

export function holds(window: DateSlice, day: Day): boolean {
  return (window.from === null || window.from <= day) && (window.to === null || day <= window.to);
}

/** From one day to another; negative backwards. */
export const daysApart = (from: Day, to: Day): number => (Date.parse(to) - Date.parse(from)) / DAY;

/** Days in the window; infinite when open. */
export function lengthInDays(window: DateSlice): number {
  if (window.from === null || window.to === null) return Number.POSITIVE_INFINITY;
  return daysApart(window.from, window.to) + 1;
}

export interface DateRange {
  readonly from: Day;
  readonly to: Day;
}

/** A day wider on both sides, as far as there are days. */
export const widened = ({ from, to }: DateSlice): DateSlice => ({
  by: 'date',
  from: from === null ? null : addDays(from, -1),
  to: to === null ? null : addDays(to, 1),
});

/** The first and last day of a month given as `YYYY-MM`. */
export const monthRange = (month: string): DateRange => ({ from: `${month}-01`, to: lastOfMonth(`${month}-01`) });

/** The month (`YYYY-MM`) that lies so many months before that of the day. */
export function monthBefore(day: Day, months: number): string {
  const number = Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7)) - 1 - months;
  return `${pad(Math.floor(number / 12), 4)}-${pad((number % 12) + 1, 2)}`;
}

/** Days of the range that lie in the window. */
export function overlapDays(window: DateSlice, { from, to }: DateRange): number {
  const first = window.from === null || window.from < from ? from : window.from;
  const last = window.to === null || window.to > to ? to : window.to;
  return first > last ? 0 : daysApart(first, last) + 1;
}

/** The first and last day of the years that a server with 32-bit times knows in full, for windows that need both dates. */
export const OLDEST = '1902-01-01';
export const NEWEST = '2037-12-31';

export const isBeyondWindows = (day: Day): boolean => day < OLDEST || day > NEWEST;
