import { SECOND } from '../../clock.ts';

/** Headers by lower-case name, as undici and node:http give them. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface RateHeaders {
  /** The server's limit, and its count of requests left. */
  limit?: number;
  remaining?: number;
  /** From `Retry-After`: how long to stay away. */
  retryAfterMs?: number;
  /** From `X-RateLimit-Reset`: until its window ends. */
  resetMs?: number;
}

/**
 * Reads the rate headers in every form seen in practice. Durations are from now, between 1 s and one window; a header that
 * is absent, unreadable or names a moment in the past gives no duration: the caller backs off by its own rule.
 */
export function parseRateHeaders(headers: Headers, time: { nowMs: number; windowMs: number }): RateHeaders {
  return {
    ...present('limit', count(first(headers, 'x-ratelimit-limit'), 1)),
    ...present('remaining', count(first(headers, 'x-ratelimit-remaining'), 0)),
    ...present('retryAfterMs', durationMs(first(headers, 'retry-after'), time)),
    ...present('resetMs', durationMs(first(headers, 'x-ratelimit-reset'), time)),
  };
}

/** Above 1e12 = epoch milliseconds, above 1e9 = epoch seconds, other digits = seconds to go, other text = a date. */
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

/** An HTTP or ISO date; without a zone it is UTC. NaN when it is neither. */
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

/** A header sent twice comes as a list; numbers may also be joined by a comma. A date's own comma follows a letter. */
function first(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  const text = (Array.isArray(value) ? value[0] : value)?.trim().replace(/^(\d[\d.]*)\s*,.*$/, '$1');
  return text === '' ? undefined : text;
}

function present<K extends string>(key: K, value: number | undefined): { [P in K]?: number } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: number };
}
