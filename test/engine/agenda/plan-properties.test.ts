import fc from 'fast-check';
import { expect, test } from 'vitest';
import customers from '../../../jobs/customers.ts';
import invoices from '../../../jobs/invoices.ts';
import tickets from '../../../jobs/tickets.ts';
import transactions from '../../../jobs/transactions.ts';
import { type Choice, isPause, type ListInUse, type PlanFacts, type Wish } from '../../../src/engine/agenda/choice.ts';
import { plan } from '../../../src/engine/agenda/plan.ts';
import { partition, watched } from '../../../src/engine/coverage/list.ts';
import { covers } from '../../../src/engine/coverage/prove.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { splitWindow, wholeTime } from '../../../src/engine/slices/date-windows.ts';
import { type DateSlice, overlap, type Slice, sliceText } from '../../../src/engine/slices/slice.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');
const HOUR = 3_600_000;

const anyTraits = fc.record(
  {
    order: fc.constantFrom('id-desc', 'id-asc', 'updated-desc', 'none'),
    paging: fc.constantFrom('ignored', 'until empty'),
    limit: fc.constantFrom('ignored', 'honoured'),
    'page size': fc.constantFrom('20', '100', '1000'),
    'one answer': fc.constantFrom('cut', 'complete'),
    ids: fc.constantFrom('yes', 'no'),
    edits: fc.constant('in place'),
    dates: fc.constant('no'),
    undated: fc.constant('yes'),
    'date filter': fc.constant('ignored'),
    'filter customer_id': fc.constant('ignored'),
  },
  { requiredKeys: [] },
);

const anyAge = fc.option(fc.integer({ min: 0, max: 48 }));

const anyList: fc.Arbitrary<ListInUse> = fc
  .record({
    job: fc.constantFrom(customers, invoices, transactions, tickets),
    traits: anyTraits,
    cuts: fc.array(fc.nat(), { maxLength: 6 }),
    ages: fc.array(anyAge, { minLength: 40, maxLength: 40 }),
    rows: fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 40, maxLength: 40 }),
    total: fc.constantFrom(undefined, null, 100),
    turn: fc.nat({ max: 9 }),
  })
  .map(({ job, traits, cuts, ages, rows, total, turn }) => {
    const profile = profileOf(Object.entries(traits).map(([trait, value]) => ({ trait, value: value as string })));
    const strategy = strategyFor(profile, job);
    const slices = strategy.partition === 'date' ? windows(cuts) : strategy.partition === 'id' ? ranges(cuts) : [WHOLE];
    const entries = slices.map((slice, index): Entry => {
      const age = ages[index % 40] ?? null;
      const provenAt = age === null ? null : NOW - age * HOUR;
      return {
        slice,
        provenAt,
        readAt: provenAt,
        requests: 1,
        rows: rows[index % 40] ?? 0,
        changed: index % 3,
        hoursWatched: index,
        dueSince: null,
        dueReason: null,
      };
    });
    return {
      job,
      profile,
      strategy,
      entries: new Map(entries.map(entry => [sliceText(entry.slice), entry])),
      total,
      reading: new Set(),
      turn,
    };
  });

const WHOLE: Slice = { by: 'whole' };

function windows(cuts: readonly number[]): DateSlice[] {
  let slices: DateSlice[] = [wholeTime];
  for (const cut of cuts) {
    const at = cut % slices.length;
    const into = splitWindow(slices[at] as DateSlice, '2026-01-15');
    if (into) slices = [...slices.slice(0, at), ...into, ...slices.slice(at + 1)];
  }
  return slices;
}

function ranges(cuts: readonly number[]): Slice[] {
  const bounds = [...new Set(cuts.map(cut => BigInt(cut % 500)))].sort((a, b) => (a < b ? -1 : 1));
  return [null, ...bounds].map((bound, index) => ({
    by: 'id',
    from: bound === null ? null : bound + 1n,
    to: bounds[index] ?? null,
  }));
}

const anyWish: fc.Arbitrary<Wish> = fc
  .record({
    kind: fc.constantFrom('sync' as const, 'slot' as const, 'backfill' as const, 'verify' as const),
    sinceHours: fc.integer({ min: 0, max: 24 }),
    range: fc.constantFrom([null, null], ['2025-01-01', '2025-12-31'], [null, '2020-12-31']),
    reportOnly: fc.boolean(),
    allowance: fc.integer({ min: 0, max: 30 }),
    counted: fc.constantFrom(null, 100),
  })
  .map(({ kind, sinceHours, range, reportOnly, allowance, counted }) => ({
    kind,
    since: NOW - sinceHours * HOUR,
    from: range[0] ?? null,
    to: range[1] ?? null,
    reportOnly: kind === 'verify' && reportOnly,
    allowance,
    targets: [],
    counted,
    absent: false,
    failure: null,
    progress: { done: new Set(), asked: new Set(), coverAsked: new Set(), pauses: new Set(), intervals: [] },
  }));

const anyMissing = fc.array(
  fc.record({ key: fc.integer({ min: 1, max: 400 }).map(String), hours: fc.integer({ min: 0, max: 30 }) }),
  { maxLength: 3 },
);

const anyFacts: fc.Arbitrary<PlanFacts> = fc
  .record({ list: anyList, wish: anyWish, missing: anyMissing, affordable: fc.constantFrom(true, false, null) })
  .map(({ list, wish, missing, affordable }) => {
    const parts = partition(list);
    const rows = missing.map(({ key, hours }, index) => ({
      key,
      slice: sliceText(parts[index % parts.length]?.slice ?? WHOLE),
      since: new Date(NOW - hours * HOUR).toISOString().replace('Z', '+00'),
      value: index % 2 ? null : '3',
      half: index % 3 === 0,
      readings: 1 + (index % 4),
    }));
    return { list, wish, missing: rows, now: NOW, today: '2026-01-15', affordable };
  });

/** The facts once the choice was read and added up. */
function afterReading(facts: PlanFacts, { slice, asks, counted }: Choice, at: number): PlanFacts {
  const { list, wish } = facts;
  const entries = new Map(list.entries);
  const read = [...partition(list), ...watched(list)].filter(entry => covers(slice, entry.slice));
  for (const entry of read) {
    const provenAt = entry.slice.by === list.strategy.partition && !wish.reportOnly ? at : entry.provenAt;
    entries.set(sliceText(entry.slice), { ...entry, provenAt, readAt: at, dueSince: null });
  }
  const done = new Set([...wish.progress.done, sliceText(slice)]);
  if (wish.reportOnly) for (const entry of read) done.add(sliceText(entry.slice));
  const asked = new Set(wish.progress.asked);
  if (typeof asks === 'object') asked.add(asks.row);
  const coverAsked = new Set(wish.progress.coverAsked);
  if (asks === 'cover') coverAsked.add(sliceText(slice));
  const progress = { ...wish.progress, done, asked, coverAsked };
  const allowance = wish.allowance - (counted ? 1 : 0);
  return { ...facts, list: { ...list, entries, turn: list.turn + 1 }, wish: { ...wish, progress, allowance } };
}

test('each of 3,000 generated tasks ends if its readings add up, and reads no more than the list holds', () => {
  fc.assert(
    fc.property(anyFacts, given => {
      let facts = given;
      const most = 3 * partition(given.list).length + watched(given.list).length + given.missing.length + 45;
      for (let reading = 1; ; reading++) {
        const next = plan(facts);
        if (typeof next === 'string' || isPause(next)) {
          if (next === 'blocked') expect([facts.wish.kind, facts.affordable]).toEqual(['sync', null]);
          return;
        }
        expect(reading).toBeLessThanOrEqual(most);
        facts = afterReading(facts, next, NOW + reading);
      }
    }),
    { numRuns: 3000 },
  );
});

test('in 10,000 generated cases, no chosen slice overlaps one being read', () => {
  fc.assert(
    fc.property(anyFacts, fc.nat(), (facts, pick) => {
      const parts = partition(facts.list);
      const reading = parts[pick % parts.length]?.slice ?? WHOLE;
      const next = plan({ ...facts, list: { ...facts.list, reading: new Set([reading]) } });
      if (typeof next !== 'string' && !isPause(next)) expect(overlap(next.slice, reading)).toBe(false);
      else expect(next).toBe('blocked');
    }),
    { numRuns: 10_000 },
  );
});

test('in 10,000 generated cases, planning does not change its input', () => {
  const plain = (facts: PlanFacts) =>
    JSON.stringify([...facts.list.entries.values(), facts.wish.progress, facts.missing], (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value instanceof Set ? [...value] : value,
    );
  fc.assert(
    fc.property(anyFacts, facts => {
      const before = plain(facts);
      plan(facts);
      expect(plain(facts)).toBe(before);
    }),
    { numRuns: 10_000 },
  );
});
