import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { afterAnswer, afterRefusal, type Concurrency, sentAt, startConcurrency } from '../../src/budget/concurrency.ts';

/** A source that serves `capacity` requests at once gets `rounds` bursts of as many as are allowed. */
function play(start: Concurrency, capacity: number, rounds: number): { end: Concurrency; refusals: number } {
  let concurrency = start;
  let refusals = 0;
  for (let round = 0; round < rounds; round++) {
    const burst = Array.from({ length: concurrency.allowed }, (_, index) => sentAt(concurrency, index + 1));
    for (const [index, sent] of burst.entries()) {
      concurrency = index < capacity ? afterAnswer(concurrency, sent) : afterRefusal(concurrency, sent);
      if (index >= capacity) refusals++;
    }
  }
  return { end: concurrency, refusals };
}

const most = fc.integer({ min: 1, max: 32 });
const capacity = fc.integer({ min: 1, max: 32 });
const known = fc.option(fc.integer({ min: 0, max: 64 }), { nil: undefined });

describe('the number of requests in flight', () => {
  test('lies between one and the setting, whatever is answered and refused', () => {
    const event = fc.record({ refused: fc.boolean(), inFlight: fc.integer({ min: 1, max: 40 }), late: fc.boolean() });
    fc.assert(
      fc.property(most, known, fc.array(event, { maxLength: 300 }), (setting, from, events) => {
        let concurrency = startConcurrency(setting, from);
        let before = sentAt(concurrency, 1);
        for (const { refused, inFlight, late } of events) {
          const now = sentAt(concurrency, inFlight);
          const next = (refused ? afterRefusal : afterAnswer)(concurrency, late ? before : now);
          expect(next.allowed).toBeGreaterThanOrEqual(1);
          expect(next.allowed).toBeLessThanOrEqual(setting);
          expect(next.allowed - concurrency.allowed).toBeLessThanOrEqual(refused ? 0 : 1);
          expect(next.allowed).toBeGreaterThanOrEqual(Math.floor(concurrency.allowed / 2));
          before = now;
          concurrency = next;
        }
      }),
    );
  });

  test('is halved once by a burst of refusals, and never below one', () => {
    fc.assert(
      fc.property(most, setting => {
        const start = startConcurrency(setting);
        const burst = Array.from({ length: setting }, (_, index) => sentAt(start, index + 1));
        expect(burst.reduce(afterRefusal, start).allowed).toBe(Math.max(1, Math.floor(setting / 2)));
      }),
    );
  });

  test('settles at what the source serves, and costs few refused requests', () => {
    fc.assert(
      fc.property(most, capacity, known, (setting, serves, from) => {
        const { end, refusals } = play(startConcurrency(setting, from), serves, 4000);
        const best = Math.min(setting, serves);
        expect(end.allowed).toBeGreaterThanOrEqual(best);
        expect(end.allowed).toBeLessThanOrEqual(best + 1);
        // Halving costs less than twice the setting; later raises are each refused once, ever more rarely.
        expect(refusals).toBeLessThanOrEqual(2 * setting + 160);
      }),
    );
  });

  test('returns to the setting when the source serves more again', () => {
    fc.assert(
      fc.property(most, setting => {
        const low = play(startConcurrency(setting), 1, 200).end;
        expect(play(low, setting, 10_000).end.allowed).toBe(setting);
      }),
      { numRuns: 20 },
    );
  });

  test('is not raised by answers while places were free', () => {
    const low = startConcurrency(8, 4);
    const answered = Array.from({ length: 1000 }, () => sentAt(low, 3)).reduce(afterAnswer, low);
    expect(answered.allowed).toBe(4);
  });
});

test('a raise that is refused is taken back, and the next one takes twice as many answers', () => {
  const full = (concurrency: Concurrency) => sentAt(concurrency, concurrency.allowed);
  let concurrency = startConcurrency(8, 2);
  const answers = () => {
    let count = 0;
    for (const before = concurrency.allowed; concurrency.allowed === before; count++)
      concurrency = afterAnswer(concurrency, full(concurrency));
    return count;
  };
  expect(answers()).toBe(25);
  concurrency = afterRefusal(concurrency, full(concurrency));
  expect(concurrency.allowed).toBe(2);
  expect(answers()).toBe(50);
  concurrency = afterRefusal(concurrency, full(concurrency));
  expect(answers()).toBe(100);
});
