import type { Usage } from '../budget/ledger/usage.ts';
import { DAY, HOUR, MINUTE, SECOND, stampMs } from '../clock.ts';
import { parseSlice, type Slice } from '../engine/slices/slice.ts';

/** 12345 as `12,345`. */
export const count = (value: number): string => value.toLocaleString('en-US');

/** `1 row`, `12 rows`. */
export const plural = (value: number, word: string): string => `${count(value)} ${word}${value === 1 ? '' : 's'}`;

/** `a`, `a and b`, `a, b and c`. */
export const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

/** `a, b, c and 4 more`: at most `most` of the names; `all`: how many there are, named or not. */
export function firstOf(names: readonly string[], most: number, all = names.length): string {
  const more = all - Math.min(names.length, most);
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}`;
}

/** `20 seconds`, `4 minutes`, `3 hours`, `2 days`: to the unit of which there are a few. */
export function durationText(seconds: number): string {
  if (seconds < 90 && Math.round(seconds) !== 60) return plural(Math.round(seconds), 'second');
  if (seconds < 90 * 60) return plural(Math.round(seconds / 60), 'minute');
  if (seconds < 36 * 3600) return plural(Math.round(seconds / 3600), 'hour');
  return plural(Math.round(seconds / 86_400), 'day');
}

/** `11 s`, `4 min`, `3 h`, `2 days`: to the unit of which there are a few. */
export function shortDuration(ms: number): string {
  if (ms < 90 * SECOND) return `${Math.max(Math.round(ms / SECOND), 0)} s`;
  if (ms < 90 * MINUTE) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 36 * HOUR) return `${Math.round(ms / HOUR)} h`;
  return `${Math.round(ms / DAY)} days`;
}

const UNITS = { s: SECOND, m: MINUTE, h: HOUR, d: DAY } as const;

/** Milliseconds of `90s`, `5m`, `2h`, `1d` or `0`; null for another text. */
export function parseDuration(text: string): number | null {
  if (text === '0') return 0;
  const [, number, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return unit === undefined ? null : Number(number) * UNITS[unit as keyof typeof UNITS];
}

/** Epoch milliseconds or a Postgres timestamp as `2026-01-15 10:00:05` in `timeZone`. */
export function moment(at: number | string | null, timeZone: string): string {
  if (at === null) return '';
  const atMs = typeof at === 'number' ? at : stampMs(at);
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(atMs);
}

/** `timestamptz` as Postgres writes it. */
const STAMP = /^(\d{4,6}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)(:\d\d)?$/;

/** A moment as Postgres writes it in ISO 8601, with all its digits; any other text as it is. */
export function isoText(text: string): string {
  const [, day, time, hours, minutes = ':00'] = STAMP.exec(text) ?? [];
  if (day === undefined) return text;
  const zone = hours === '+00' && minutes === ':00' ? 'Z' : `${hours}${minutes}`;
  return `${day}T${time}${zone}`;
}

/** Below these, documents show what the source sent, as it is. */
const OF_THE_SOURCE: ReadonlySet<string> = new Set(['row', 'children', 'before', 'after', 'examples']);

/** A document with every moment of ours in ISO 8601, be it text of Postgres or, under `...At`, `...Until` and `asOf`, a number. */
export function isoTimes(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return isoText(value);
  if (typeof value === 'number') return /(?:At|Until|^asOf)$/.test(name) ? new Date(value).toISOString() : value;
  if (typeof value !== 'object' || value === null || value instanceof Date || OF_THE_SOURCE.has(name)) return value;
  if (Array.isArray(value)) return value.map(each => isoTimes(each));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, isoTimes(each, key)]));
}

/** The request limit in one line: used, left, and when requests become free. */
export function budgetLine(usage: Usage, at: (value: string | null) => string): string {
  const { used, limit, free, reserve, withheld, isNew, blockedUntil, nextFreeAt } = usage;
  const whose = isNew ? 'sent without this warehouse' : 'by other programs with this key';
  const sent = withheld > 0 ? ` (and ${count(withheld)} ${whose})` : '';
  const left = ` (${count(reserve)} more are left to other programs${withheld > 0 ? `; ${count(withheld)} ${whose}` : ''})`;
  const blocked = blockedUntil ? `; the source asks to wait until ${at(blockedUntil)}` : '';
  const next = !blockedUntil && free === 0 && nextFreeAt ? `; next request free at ${at(nextFreeAt)}` : '';
  return `${count(used)} of ${count(limit)} used in this window${reserve > 0 ? left : sent}, ${count(free)} left${blocked}${next}`;
}

/** A slice as ledgers write it, in a few words. */
export const wordsOfSlice = (text: string): string => sliceWords(parseSlice(text));

export function sliceWords(slice: Slice): string {
  switch (slice.by) {
    case 'id':
      return slice.from === null && slice.to === null ? 'all ids' : `ids ${rangeWords(slice.from, slice.to)}`;
    case 'date':
      return slice.from !== null && slice.from === slice.to ? slice.from : rangeWords(slice.from, slice.to);
    case 'value':
      return `${slice.field} ${slice.value}`;
    case 'one':
      return `row ${slice.key}`;
    case 'total':
      return `total of ${slice.month}`;
    case 'newest':
      return 'newest rows';
    case 'whole':
      return 'all rows';
  }
}

function rangeWords(from: bigint | string | null, to: bigint | string | null): string {
  if (from === null) return to === null ? 'all dates' : `up to ${to}`;
  return to === null ? `from ${from} on` : `${from} to ${to}`;
}

/** `2 added, 1 changed`; empty where nothing is. */
export const restatedText = (counts: Readonly<Record<'added' | 'changed' | 'deleted', number>>): string =>
  (['added', 'changed', 'deleted'] as const)
    .flatMap(kind => (counts[kind] > 0 ? `${count(counts[kind])} ${kind}` : []))
    .join(', ');

/** A value of a row for people: text as it is, all else as JSON. `none`: what is said for null, and for no value. */
export const valueText = (value: unknown, none = 'null'): string =>
  typeof value === 'string' ? value : value === null || value === undefined ? none : JSON.stringify(value);

/** `amount 295383.14, tax 12.00`: the sums of a closed month. */
export const sumsText = (sums: Readonly<Record<string, string>>): string =>
  Object.entries(sums)
    .map(([field, sum]) => `${field} ${sum}`)
    .join(', ');
