import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import { namesConcurrency, parseRateHeaders, refusalOf } from '../../src/source/answers/rate-limit.ts';

const nowMs = Date.UTC(2026, 0, 15, 10);
const time = { nowMs, windowMs: HOUR };
const reset = (value: string) => parseRateHeaders({ 'x-ratelimit-reset': value }, time).resetMs;
const retryAfter = (value: string) => parseRateHeaders({ 'retry-after': value }, time).retryAfterMs;

describe('X-RateLimit-Reset and Retry-After', () => {
  it.each([
    ['epoch seconds', String((nowMs + 10 * MINUTE) / 1000), 10 * MINUTE],
    ['epoch milliseconds', String(nowMs + 10 * MINUTE), 10 * MINUTE],
    ['seconds to go', '600', 10 * MINUTE],
    ['fractions of a second', '1.5', 1500],
    ['an HTTP date', new Date(nowMs + 10 * MINUTE).toUTCString(), 10 * MINUTE],
    ['an ISO date', new Date(nowMs + 10 * MINUTE).toISOString(), 10 * MINUTE],
    ['a date without a zone, taken as UTC', '2026-01-15 10:10:00', 10 * MINUTE],
    ['zero seconds to go: one second', '0', SECOND],
    ['more than a window: one window', '86400', HOUR],
    ['of 301 digits: one window', `1${'0'.repeat(300)}`, HOUR],
    ['with an exponent', '1e300', undefined],
    ['far ahead: one window', String((nowMs + 100 * HOUR) / 1000), HOUR],
    ['sent twice', '600, 600', 10 * MINUTE],
    ['a stale constant in the past: none, so the caller backs off', '1500000000', undefined],
    ['a past date', new Date(nowMs - 1).toUTCString(), undefined],
    ['nonsense', 'soon', undefined],
    ['empty', '', undefined],
    ['negative', '-5', undefined],
  ])('%s', (_form, text, expected) => {
    expect(reset(text)).toBe(expected);
    expect(retryAfter(text)).toBe(expected);
  });

  it('are never NaN, negative or longer than a window, whatever the text', () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.double().map(String),
      fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String),
      fc.date({ noInvalidDate: true }).map(date => date.toUTCString()),
      fc.array(fc.string()),
    );
    fc.assert(
      fc.property(value, value, fc.integer({ min: 1000, max: 7 * 24 * HOUR }), (one, two, windowMs) => {
        const parsed = parseRateHeaders(
          { 'retry-after': one, 'x-ratelimit-reset': two, 'x-ratelimit-limit': one, 'x-ratelimit-remaining': two },
          { nowMs, windowMs },
        );
        for (const ms of [parsed.retryAfterMs, parsed.resetMs]) {
          if (ms !== undefined) expect(ms >= SECOND && ms <= windowMs && Number.isInteger(ms)).toBe(true);
        }
        if (parsed.limit !== undefined) expect(Number.isSafeInteger(parsed.limit) && parsed.limit >= 1).toBe(true);
        if (parsed.remaining !== undefined) expect(Number.isSafeInteger(parsed.remaining)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

it('limit and remaining are parsed, and ignored if absent or invalid', () => {
  expect(parseRateHeaders({ 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '0' }, time)).toEqual({
    limit: 1000,
    remaining: 0,
  });
  expect(parseRateHeaders({ 'x-ratelimit-limit': '0', 'x-ratelimit-remaining': 'many' }, time)).toEqual({});
  expect(parseRateHeaders({}, time)).toEqual({});
});

const text = fc.constantFrom('', 'Too many requests', 'Too many connections', '<h1>429 Too Many Requests</h1>');
const unused = fc.double({ min: 0, max: 1, noNaN: true });
const retryAfterMs = fc.option(fc.integer({ min: SECOND, max: 3600 * SECOND }), { nil: undefined });

describe('a refused request', () => {
  test("with requests left, by the source's own count, came at the same time as too many others", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), retryAfterMs, text, unused, (remaining, after, said, share) => {
        expect(refusalOf({ remaining, ...(after && { retryAfterMs: after }) }, said, share)).toBe('crowded');
      }),
    );
  });

  test('with none left met the limit', () => {
    fc.assert(
      fc.property(retryAfterMs, text, unused, (after, said, share) => {
        expect(refusalOf({ remaining: 0, ...(after && { retryAfterMs: after }) }, said, share)).toBe('quota');
      }),
    );
  });

  it.each([
    ['Too many connections', 0.9, undefined, 'crowded'],
    ['Too many connections', 0, 600, 'crowded'],
    ['Too many requests', 0.9, 1, 'crowded'],
    ['Too many requests', 0.5, 10, 'crowded'],
    ['Too many requests', 0.4, 1, 'quota'],
    ['Too many requests', 0.9, 11, 'quota'],
    ['Too many requests', 0.9, undefined, 'quota'],
    ['', 1, undefined, 'quota'],
  ] as const)('without that count: "%s", %d of the limit unused, Retry-After: %s is %s', (said, share, after, kind) => {
    const headers = after === undefined ? {} : { retryAfterMs: after * SECOND };
    expect(refusalOf(headers, said, share)).toBe(kind);
  });
});

it.each([
  'Too many connections',
  'Too many open connections',
  'Maximum number of connections reached',
  'Too many concurrent requests',
  'Concurrency limit exceeded',
  'You may only send 2 simultaneous requests',
  'Too many requests at once',
  'Only one request at a time',
  'SQLSTATE[08004] [1040] Too many connections',
])('"%s" is about requests at the same time', said => {
  expect(namesConcurrency(JSON.stringify({ success: false, message: said }))).toBe(true);
});

it.each(['Too many requests', 'Rate limit of 1000 requests per hour exceeded', 'Connection: close', 'Slow down'])(
  '"%s" is not',
  said => {
    expect(namesConcurrency(said)).toBe(false);
  },
);
