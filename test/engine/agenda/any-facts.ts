import fc from 'fast-check';
import customers from '../../../jobs/customers.ts';
import invoices from '../../../jobs/invoices.ts';
import tickets from '../../../jobs/tickets.ts';
import transactions from '../../../jobs/transactions.ts';
import { HOUR } from '../../../src/clock.ts';
import { type ListInUse, NO_PROGRESS, type PlanFacts, type Wish } from '../../../src/engine/agenda/choice.ts';
import { partition } from '../../../src/engine/coverage/list.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { splitWindow, wholeTime } from '../../../src/engine/slices/date-windows.ts';
import { type DateSlice, type Slice, sliceText } from '../../../src/engine/slices/slice.ts';

export const NOW = Date.parse('2026-01-15T10:00:00Z');

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
    'longest date': fc.constantFrom('30', '2000'),
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
  })
  .map(({ job, traits, cuts, ages, rows, total }) => {
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
        // Before its proof, after it, and not yet.
        dueSince: index % 5 === 2 ? NOW + (index - 20) * HOUR : null,
        dueReason: index % 5 === 2 ? 'something happened in it' : null,
      };
    });
    return {
      job,
      profile,
      strategy,
      entries: new Map(entries.map(entry => [sliceText(entry.slice), entry])),
      total,
      reading: new Set(),
    };
  });

export const WHOLE: Slice = { by: 'whole' };

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
    kind: fc.constantFrom<Wish['kind']>('sync', 'slot', 'hint', 'refresh', 'backfill', 'verify'),
    sinceHours: fc.integer({ min: 0, max: 24 }),
    range: fc.constantFrom([null, null], ['2025-01-01', '2025-12-31'], [null, '2020-12-31']),
    reportOnly: fc.boolean(),
    allowance: fc.integer({ min: 0, max: 30 }),
    counted: fc.constantFrom(null, { rows: 100, at: 0 }),
    readsAll: fc.constantFrom(true, false, null),
  })
  .map(({ kind, sinceHours, range, reportOnly, allowance, counted, readsAll }) => ({
    kind,
    since: NOW - sinceHours * HOUR,
    from: range[0] ?? null,
    to: range[1] ?? null,
    reportOnly: kind === 'verify' && reportOnly,
    state: { ...NO_PROGRESS, allowance, counted, readsAll },
  }));

const anyMissing = fc.array(
  fc.record({ key: fc.integer({ min: 1, max: 400 }).map(String), hours: fc.integer({ min: 0, max: 30 }) }),
  { maxLength: 3 },
);

/** What a task of any kind may know when it chooses what to read next. Nothing is being read. */
export const anyFacts: fc.Arbitrary<PlanFacts> = fc
  .record({
    list: anyList,
    wish: anyWish,
    missing: anyMissing,
    hinted: fc.array(fc.nat(), { maxLength: 3 }),
  })
  .map(({ list, wish: given, missing, hinted }) => {
    const parts = partition(list);
    const some = hinted.map(each => parts[each % parts.length]?.slice ?? WHOLE);
    const record: Slice = { by: 'one', key: `${missing.length}` };
    const targets = given.kind === 'hint' ? some : given.kind === 'refresh' ? [record, ...some] : [];
    const wish = { ...given, state: { ...given.state, targets } };
    const rows = missing.map(({ key, hours }, index) => ({
      key,
      slice: sliceText(parts[index % parts.length]?.slice ?? WHOLE),
      since: new Date(NOW - hours * HOUR).toISOString().replace('Z', '+00'),
      value: index % 2 ? null : '3',
      half: index % 3 === 0,
      readings: 1 + (index % 4),
    }));
    return { list, wish, missing: rows, now: NOW, today: '2026-01-15' };
  });
