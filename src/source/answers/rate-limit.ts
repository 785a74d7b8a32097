import { SECOND } from '../../clock.ts';
import { beginning } from './text.ts';

/** Headers by lower-case name, as undici and node:http give them. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

interface RateHeaders {
  /** The server's limit, and its count of requests left. */
  limit?: number;
  remaining?: number;
  /** From `Retry-After`: how long to wait. */
  retryAfterMs?: number;
  /** From `X-RateLimit-Reset`: until its window ends. */
  resetMs?: number;
}

/**
 * Parses the rate headers in every form seen in practice. Durations count from now and lie between 1 s and one window. A header that is
 * absent, unreadable or names a moment in the past yields no duration, and the caller backs off by its own rule.
 */
export function parseRateHeaders(headers: Headers, time: { nowMs: number; windowMs: number }): RateHeaders {
  return {
    ...present('limit', count(first(headers, 'x-ratelimit-limit'), 1)),
    ...present('remaining', count(first(headers, 'x-ratelimit-remaining'), 0)),
    ...present('retryAfterMs', durationMs(first(headers, 'retry-after'), time)),
    ...present('resetMs', durationMs(first(headers, 'x-ratelimit-reset'), time)),
  };
}

/** Above 1e12: epoch milliseconds; above 1e9: epoch seconds; other numbers: seconds from now; other text: a date. */
function durationMs(text: string | undefined, time: { nowMs: number; windowMs: number }): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+(\.\d*)?$/.test(text)) return untilMs(dateMs(text), time);
  const number = Number(text);
  if (number > 1e12) return untilMs(number, time);
  if (number > 1e9) return untilMs(number * SECOND, time);
  return clamp(number * SECOND, time.windowMs);
}

function untilMs(epochMs: number, { nowMs, windowMs }: { nowMs: number; windowMs: number }): number | undefined {
  return epochMs > nowMs ? clamp(epochMs - nowMs, windowMs) : undefined;
}

/** Parses an HTTP or ISO date, without a zone as UTC. NaN for other text. */
function dateMs(text: string): number {
  if (!/\d{4}/.test(text)) return Number.NaN;
  return Date.parse(/(?:GMT|UTC|Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);
}

function clamp(ms: number, windowMs: number): number {
  return Math.max(SECOND, Math.min(Math.ceil(ms), windowMs));
}

function count(text: string | undefined, least: number): number | undefined {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  const number = Number(text);
  return number >= least ? number : undefined;
}

/** Longer than any number and date. */
const MOST_TEXT = 100;

/** A header that was sent twice comes as a list, or joined by a comma. The comma of a date follows a letter and is kept. */
function first(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  const text = (Array.isArray(value) ? value[0] : value)
    ?.trim()
    .slice(0, MOST_TEXT)
    .replace(/^(\d[\d.]*)\s*,.*$/, '$1');
  return text === '' ? undefined : text;
}

function present<K extends string>(key: K, value: number | undefined): { [P in K]?: number } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: number };
}

/** Why a source refuses a request for now: its limit is used up, or it serves too many requests at once. */
export type Refusal = 'quota' | 'crowded';

/** A limit that is used up takes longer to have room again, unless it is counted by the second. */
const SHORT_MS = 10 * SECOND;
/** Below this share the limit may be used up at the source: it may be lower than configured, or another program may use the key. */
const AMPLE = 0.5;

/**
 * Why a request was refused. The server's count of requests left decides; without it its words; without those our own count (`unused`:
 * the share of the limit that is left), if the source asks for a short wait only. In doubt the limit, because waiting longer is safe.
 */
export function refusalOf(
  { remaining, retryAfterMs }: Pick<RateHeaders, 'remaining' | 'retryAfterMs'>,
  text: string,
  unused: number,
): Refusal {
  if (remaining !== undefined) return remaining > 0 ? 'crowded' : 'quota';
  if (namesConcurrency(text)) return 'crowded';
  const asksForLittle = retryAfterMs !== undefined && retryAfterMs <= SHORT_MS;
  return asksForLittle && unused >= AMPLE ? 'crowded' : 'quota';
}

/** A message about requests at the same time, in whatever status it came. */
export function namesConcurrency(text: string): boolean {
  return CONCURRENCY.test(beginning(text));
}

const CONCURRENCY = new RegExp(
  [
    'too many (?:\\w{1,20} )?connections',
    '(?:max|maximum|limit)\\w{0,20}(?: number)?(?: of)?(?: \\w{1,20})? connections',
    'connection limit',
    '(?:concurren\\w{1,20}|simultaneous|parallel)(?: \\w{1,20}){0,2} (?:requests?|connections?|calls?|limit)',
    'concurrency',
    '(?:requests?|connections?|calls?) (?:only )?(?:at (?:once|a time|the same time)|in (?:parallel|flight)|concurrently|simultaneously)',
  ].join('|'),
  'i',
);
