import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { SECOND } from '../../src/clock.ts';
import { namesConcurrency, refusalOf } from '../../src/source/answers/refusal.ts';

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
