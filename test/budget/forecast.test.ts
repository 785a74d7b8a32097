import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Forecast, lastingRate, STEPS, wholeLimit } from '../../src/budget/forecast.ts';
import { createLedger } from '../../src/budget/ledger/ledger.ts';
import { HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import { withDatabase } from '../support/database.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const anyForecast: fc.Arbitrary<Forecast> = fc.record({
  windowMs: fc.integer({ min: SECOND, max: HOUR }),
  free: fc.integer({ min: 0, max: 1000 }),
  ending: fc.array(fc.integer({ min: 0, max: 100 }), { minLength: STEPS, maxLength: STEPS }),
});

test('at the lasting rate, all that is kept is left at every step, and at one of them nothing more', () => {
  fc.assert(
    fc.property(anyForecast, fc.integer({ min: 0, max: 10 }), (forecast, kept) => {
      fc.pre(forecast.free >= kept);
      const rate = lastingRate(forecast, kept);
      let free = forecast.free;
      const left = forecast.ending.map((requests, step) => {
        free += requests;
        return free - rate * ((step + 1) / STEPS) * forecast.windowMs;
      });
      expect(Math.min(...left)).toBeCloseTo(kept, 6);
    }),
  );
});

test('an unused limit lasts for a window, and one that is used evenly is spent on at the same rate', () => {
  const even = { windowMs: HOUR, free: 0, ending: Array.from({ length: STEPS }, () => 900 / STEPS) };
  expect(lastingRate(wholeLimit(900, HOUR), 0) * HOUR).toBeCloseTo(900, 6);
  expect(lastingRate(even, 0) * HOUR).toBeCloseTo(900, 6);
  expect(lastingRate({ ...even, ending: even.ending.map(() => 0) }, 5)).toBe(0);
});

test('the ledger tells when what it counts stops counting; a request in flight counts for a window more at most', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const ledger = createLedger({
      database,
      source: 'shop',
      apiKey: 'the-key-itself',
      limit: 100,
      windowMs: HOUR,
      timeoutMs: 30 * SECOND,
    });
    expect(await ledger.forecast()).toEqual(wholeLimit(100, HOUR));
    const { grants } = await ledger.take('live', 40);
    for (const grant of grants) await ledger.settle(grant, { purpose: 'page', status: 200 });
    await clock.advance(30 * MINUTE);
    await ledger.take('live', 10);
    const ending = Array.from({ length: STEPS }, () => 0);
    ending[STEPS / 2 - 1] = 40;
    ending[STEPS - 1] = 10;
    expect(await ledger.forecast()).toEqual({ windowMs: HOUR, free: 50, ending });
    await clock.advance(30 * MINUTE);
    expect(await ledger.forecast()).toMatchObject({ free: 90 });
  });
});
