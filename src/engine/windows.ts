import { DAY } from '../clock.ts';
import type { DateSlice } from '../warehouse/slice.ts';

/** A plain date, `YYYY-MM-DD`; such texts sort as dates do. */
export type Day = string;

export const addDays = (day: Day, days: number): Day =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10);

/** The day it is at `epochMs` in an IANA zone. */
export const dayIn = (epochMs: number, zone: string): Day =>
  new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(
    epochMs,
  );

/** The last that a date of four-digit years can name. */
const LAST_DAY: Day = '9999-12-31';

export const wholeTime: DateSlice = { by: 'date', from: null, to: null };

const year = (y: number): DateSlice => ({ by: 'date', from: `${pad(y, 4)}-01-01`, to: `${pad(y, 4)}-12-31` });
const lastOfMonth = (day: Day): Day => addDays(`${addDays(`${day.slice(0, 7)}-28`, 4).slice(0, 7)}-01`, -1);
const pad = (n: number, width: number) => String(n).padStart(width, '0');
const since = (from: Day): DateSlice => ({ by: 'date', from, to: null });
const until = (to: Day): DateSlice => ({ by: 'date', from: null, to });

/**
 * Cuts a window one calendar step: all time at the start of this year, an open past at its last year, an open future after its
 * first year, month or day, a year into months, a month into days. Returns null for what dates cannot cut: one day.
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
  // The further off, the more at once: rows "for ever" are often dated 9999-12-31.
  const distance = Number(from.slice(0, 4)) - Number(today.slice(0, 4));
  const ends = [`${pad(Number(from.slice(0, 4)) + Math.max(distance - 1, 0), 4)}-12-31`, lastOfMonth(from), from];
  const end = ends.find(day => day.length === LAST_DAY.length && day < LAST_DAY);
  return end === undefined ? null : [{ by: 'date', from, to: end }, since(addDays(end, 1))];
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
  for (let start = from; start <= to; ) {
    const last = lastOf(start);
    const end = last < to ? last : to;
    parts.push({ by: 'date', from: start, to: end });
    start = addDays(end, 1);
  }
  return parts;
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

/** Days in the window; infinite when open. */
export function lengthInDays(window: DateSlice): number {
  if (window.from === null || window.to === null) return Number.POSITIVE_INFINITY;
  return (Date.parse(window.to) - Date.parse(window.from)) / DAY + 1;
}
