import fc from 'fast-check';
import { expect, test } from 'vitest';
import customers from '../../../jobs/customers.ts';
import invoices from '../../../jobs/invoices.ts';
import {
  absentEntries,
  coveredSince,
  foundAbsentAt,
  type List,
  oldestProof,
  partition,
  wasAnswered,
} from '../../../src/engine/coverage/list.ts';
import {
  type CoverageChange,
  cutRanges,
  dueAfterFailure,
  partsIn,
  proveInterval,
  proveParts,
  splitEntry,
} from '../../../src/engine/coverage/prove.ts';
import type { Job } from '../../../src/engine/job.ts';
import { UNKNOWN } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { splitWindow } from '../../../src/engine/slices/date-windows.ts';
import { holdsId } from '../../../src/engine/slices/id-ranges.ts';
import {
  type DateSlice,
  type IdSlice,
  overlap,
  parseSlice,
  type Slice,
  sliceText,
} from '../../../src/engine/slices/slice.ts';
import { anEntry } from '../agenda/an-entry.ts';

const TODAY = '2026-01-15';

const listOf = (job: Job): List => ({
  job,
  profile: UNKNOWN,
  strategy: strategyFor(UNKNOWN, job),
  entries: new Map(),
  total: null,
});

function after(list: List, { removed, put }: CoverageChange): List {
  const entries = new Map(list.entries);
  for (const slice of removed) entries.delete(sliceText(slice));
  for (const entry of put) entries.set(sliceText(entry.slice), entry);
  return { ...list, entries };
}

/** No row lies in two parts, and every id lies in one. */
function expectPartition(list: List, ids: readonly bigint[]): void {
  const slices = partition(list).map(({ slice }) => slice as IdSlice);
  const overlaps = slices.flatMap((a, index) => slices.slice(index + 1).filter(b => overlap(a, b)));
  expect(overlaps.map(sliceText)).toEqual([]);
  expect(ids.filter(id => slices.filter(each => holdsId(each, String(id))).length !== 1)).toEqual([]);
}

const bound = fc.option(fc.bigInt({ min: 0n, max: 60n }));
const anyInterval = fc.tuple(bound, bound).map(
  ([a, b]): IdSlice => ({
    by: 'id',
    from: a !== null && b !== null && a > b ? b : a,
    to: a !== null && b !== null && a > b ? a : b,
  }),
);

test('however id intervals are proven, the ranges stay a partition, and the proof of each id is that of its last reading', () => {
  fc.assert(
    fc.property(fc.array(anyInterval, { minLength: 1, maxLength: 12 }), intervals => {
      let list = listOf(customers);
      const provenAt = new Map<bigint, number>();
      const ids = Array.from({ length: 61 }, (_, id) => BigInt(id));
      for (const [index, interval] of intervals.entries()) {
        const at = (index + 1) * 1000;
        const slices = [...cutRanges(list, interval).flatMap(({ rest }) => rest), interval];
        const rowsOf = new Map(
          slices.map(slice => [sliceText(slice), ids.filter(id => holdsId(slice, String(id))).length]),
        );
        list = after(list, proveInterval(list, interval, rowsOf, { at, lacked: 0, changed: new Set() }));
        for (const id of ids) if (holdsId(interval, String(id))) provenAt.set(id, at);
      }
      expectPartition(list, ids);
      const found = ids.map(id => partition(list).find(({ slice }) => holdsId(slice as IdSlice, String(id)))?.provenAt);
      expect(found).toEqual(ids.map(id => provenAt.get(id) ?? null));
    }),
    { numRuns: 1000 },
  );
});

test('however windows are cut and proven, they stay a partition, and only days that were read are proven', () => {
  const days = [
    '0500-01-01',
    '2019-12-31',
    '2024-02-29',
    '2025-12-31',
    '2026-01-01',
    TODAY,
    '2026-02-01',
    '9999-12-31',
  ];
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(), fc.boolean()), { maxLength: 15 }), moves => {
      let list = listOf(invoices);
      for (const [index, [choice, cut]] of moves.entries()) {
        const parts = partition(list);
        const { slice } = parts[choice % parts.length] as { slice: Slice };
        const into = cut ? splitWindow(slice as DateSlice, TODAY) : null;
        const at = (index + 1) * 1000;
        if (into)
          list = after(
            list,
            splitEntry(
              list,
              slice,
              into.map(part => ({ slice: part, stored: index % 3 === 0 ? null : index })),
              null,
            ),
          );
        else {
          const stored = partsIn(list, slice).map(entry => ({ entry, stored: { rows: 5, changed: 1 } }));
          list = after(list, proveParts(list, stored, { at, lacked: 0 }));
          expect(list.entries.get(sliceText(slice))?.provenAt).toBe(at);
        }
      }
      const windows = partition(list).map(({ slice }) => slice as DateSlice);
      const holding = days.map(day => windows.filter(each => overlap(each, { by: 'date', from: day, to: day })).length);
      expect(holding).toEqual(days.map(() => 1));
    }),
    { numRuns: 1000 },
  );
});

test('windows that were read together share the pages that their rows came in', () => {
  const windows = ['date ..2023-12-31', 'date 2024-01-01..2024-12-31', 'date 2025-01-01..'].map(parseSlice);
  const rows = [40, 10, 0];
  const parts = windows.map((slice, index) => ({
    entry: anEntry({ slice }),
    stored: { rows: rows[index] as number, changed: 0 },
  }));
  const requests = (pages?: number) =>
    proveParts(listOf(invoices), parts, { at: 1, lacked: 0, pages }).put.map(entry => entry.requests);
  expect(requests()).toEqual([1, 1, 1]);
  expect(requests(1)).toEqual([1, 1, 1]);
  // One of them may lie beyond the rows.
  expect(requests(11)).toEqual([8, 2, 1]);
});

test('a list is covered since its oldest proof, and not while a part was never read', () => {
  const list = listOf(customers);
  const all: IdSlice = { by: 'id', from: null, to: null };
  expect([oldestProof(list), coveredSince(list)]).toEqual([null, null]);
  const whole = after(
    list,
    proveInterval(list, all, new Map([['id ..', 9]]), { at: 7, lacked: 0, changed: new Set() }),
  );
  expect(coveredSince(whole)).toBe(7);
  const newest: IdSlice = { by: 'id', from: 5n, to: null };
  const rows = new Map([
    ['id ..4', 4],
    ['id 5..', 5],
  ]);
  expect(coveredSince(after(whole, proveInterval(whole, newest, rows, { at: 9, lacked: 0, changed: new Set() })))).toBe(
    7,
  );
});

test('a list that the source does not offer, and then fails to read, was not answered meanwhile', () => {
  const list = listOf(customers);
  const whole = partition(list)[0] as Entry;
  const absent = after(list, { removed: [], put: absentEntries(list, 100) });
  expect([foundAbsentAt(absent), wasAnswered(absent, 0)]).toEqual([100, false]);
  const failed = after(absent, { removed: [], ...dueAfterFailure(absent, whole.slice, 200, 'HTTP 503') });
  expect([foundAbsentAt(failed), wasAnswered(failed, 0)]).toEqual([null, false]);
});
