import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Budget, type Grant, LANES, type Lane, type Settlement } from '../../src/budget/budget.ts';
import { createLedger } from '../../src/budget/ledger/ledger.ts';
import { RECORDED_WITHIN_MS } from '../../src/budget/ledger/settle.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import { withDatabase } from '../support/database.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

type Step =
  | { readonly kind: 'take'; readonly lane: Lane; readonly want: number; readonly kept?: number }
  | { readonly kind: 'settle'; readonly nth: number; readonly settlement: Settlement }
  | { readonly kind: 'release'; readonly nth: number }
  | { readonly kind: 'advance'; readonly ms: number };

const report = fc.record(
  {
    remaining: fc.integer({ min: -1, max: 60 }),
    limit: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constant(6)),
    resetMs: fc.integer({ min: SECOND, max: 2 * MINUTE }),
    serverWindowMs: fc.integer({ min: 1, max: 3 }).map(minutes => minutes * MINUTE),
  },
  { requiredKeys: [] },
);
const answered = report.map(reported => ({ purpose: 'page', status: 200, ...reported }));
const refused = fc
  .option(fc.integer({ min: SECOND, max: 15 * MINUTE }), { nil: undefined })
  .map(blockedForMs => ({ purpose: 'page', status: 429, ...(blockedForMs && { blockedForMs }) }));
const crowded = refused.map(each => ({ ...each, crowded: true as const }));
const unanswered = fc.constant({ purpose: 'page', status: null });
const nth = fc.nat(1000);

const step = fc.oneof<fc.WeightedArbitrary<Step>[]>(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('take'),
      lane: fc.constantFrom(...LANES),
      want: fc.integer({ min: 1, max: 12 }),
      kept: fc.constantFrom(0, 0, 0, 4),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('settle'),
      nth,
      settlement: fc.oneof<fc.WeightedArbitrary<Settlement>[]>(
        { weight: 5, arbitrary: answered },
        { weight: 2, arbitrary: refused },
        { weight: 1, arbitrary: crowded },
        { weight: 1, arbitrary: unanswered },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release'), nth }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('advance'),
      ms: fc.oneof(fc.integer({ min: 1, max: 2 * MINUTE }), fc.integer({ min: 1, max: 40 * MINUTE })),
    }),
  },
);

/** What the store answers to each take. A settled or released grant may be named again: the stores have to ignore the same ones. */
async function play(budget: Budget, steps: readonly Step[], advance: (ms: number) => Promise<void> | void) {
  const grants: Grant[] = [];
  const answers: unknown[] = [];
  for (const each of steps) {
    if (each.kind === 'advance') {
      if (each.ms > RECORDED_WITHIN_MS) await budget.flush();
      await advance(each.ms);
    } else if (each.kind === 'take') {
      const taken = await budget.take(each.lane, each.want, each.kept);
      grants.push(...taken.grants);
      answers.push({ ...taken, grants: taken.grants.map(({ unused }) => unused) });
    } else {
      const grant = grants[each.nth % Math.max(1, grants.length)];
      if (!grant) continue;
      if (each.kind === 'settle') await budget.settle(grant, each.settlement);
      else await budget.release([grant]);
    }
  }
  return answers;
}

test('a single refusal blocks as long as the server asked, however slow it was, in both stores', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const ms = fc.integer({ min: SECOND, max: 15 * MINUTE });
    let key = 0;
    const steps = fc.tuple(ms, ms, fc.boolean()).map(([slowMs, blockedForMs, isCrowded]): Step[] => [
      { kind: 'take', lane: 'live', want: 1 },
      { kind: 'advance', ms: slowMs },
      {
        kind: 'settle',
        nth: 0,
        settlement: { purpose: 'page', status: 429, blockedForMs, ...(isCrowded && { crowded: true }) },
      },
      { kind: 'take', lane: 'live', want: 1 },
      { kind: 'advance', ms: blockedForMs },
      { kind: 'take', lane: 'live', want: 1 },
    ]);
    await fc.assert(
      fc.asyncProperty(steps, async each => {
        const asked = each[4]?.kind === 'advance' ? each[4].ms : 0;
        const expected = [
          { grants: [39 / 40], waitMs: 0 },
          { grants: [], waitMs: asked },
          { grants: [expect.any(Number)], waitMs: 0 },
        ];
        const options = { source: 'shop', apiKey: `single ${key++}`, limit: 40, windowMs: HOUR, timeoutMs: 30 * DAY };
        expect(await play(createLedger({ database, ...options }), each, passed => clock.advance(passed))).toEqual(
          expected,
        );
        let nowMs = clock.now();
        const memory = createMemoryBudget({ clock: { ...clock, now: () => nowMs }, limit: 40 });
        const advance = (passed: number) => {
          nowMs += passed;
        };
        expect(await play(memory, each, advance)).toEqual(expected);
      }),
      { numRuns: 20 },
    );
  });
});

test('the memory store and the ledger give the same grants and waits to any sequence of requests and answers', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    let key = 0;
    const sequence = fc.array(step, { minLength: 10, maxLength: 60 });
    // A limit that divides the hour into whole milliseconds and one that does not; an hour and a window below ten minutes.
    const settings = fc.record({
      limit: fc.constantFrom(1, 2, 7, 40, 101),
      windowMs: fc.constantFrom(HOUR, 7 * MINUTE),
      // At once, or only with the next statement.
      mayWait: fc.boolean(),
      // Left to other programs, as a share.
      share: fc.constantFrom(0, 0, 0.3, 0.9),
    });
    await fc.assert(
      fc.asyncProperty(settings, sequence, async ({ limit, windowMs, mayWait, share }, steps) => {
        const reserve = () => Math.min(Math.ceil(limit * share), limit - 1);
        // A time-out that never passes: the memory store has none.
        const options = { source: 'shop', apiKey: `key ${key++}`, limit, reserve, windowMs, timeoutMs: 30 * DAY };
        // No time passes by itself.
        const record = { mayWait, clock: { ...clock, sleep: () => new Promise<void>(() => undefined) } };
        const inPostgres = await play(createLedger({ database, ...options, ...record }), steps, ms =>
          clock.advance(ms),
        );
        let nowMs = clock.now();
        const inMemory = await play(
          createMemoryBudget({ clock: { ...clock, now: () => nowMs }, limit, reserve, windowMs }),
          steps,
          ms => {
            nowMs += ms;
          },
        );
        expect(inMemory).toEqual(inPostgres);
      }),
      { numRuns: 60 },
    );
  });
});
