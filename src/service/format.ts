import type { Usage } from '../budget/ledger/usage.ts';
import { DAY, HOUR, MINUTE, SECOND, stampMs } from '../clock.ts';

/** 12345 as `12,345`. */
export const count = (value: number): string => value.toLocaleString('en-US');

/** `1 row`, `12 rows`. */
export const plural = (value: number, word: string): string => `${count(value)} ${word}${value === 1 ? '' : 's'}`;

/** `a`, `a and b`, `a, b and c`. */
export const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

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

/** Epoch milliseconds or a Postgres timestamp as `2026-01-15 10:00:05` in `timeZone`. */
export function moment(at: number | string | null, timeZone: string): string {
  if (at === null) return '';
  const atMs = typeof at === 'number' ? at : stampMs(at);
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(atMs);
}

/** The request limit in one line: used, left, and when requests become free. */
export function budgetLine(usage: Usage, at: (value: string | null) => string): string {
  const { used, limit, free, withheld, isNew, blockedUntil, nextFreeAt } = usage;
  const whose = isNew ? 'sent without this warehouse' : 'by other programs with this key';
  const others = withheld > 0 ? ` (and ${count(withheld)} ${whose})` : '';
  const blocked = blockedUntil ? `; the source asks to wait until ${at(blockedUntil)}` : '';
  const next = !blockedUntil && free === 0 && nextFreeAt ? `; next request free at ${at(nextFreeAt)}` : '';
  return `${count(used)} of ${count(limit)} used in this window${others}, ${count(free)} left${blocked}${next}`;
}
