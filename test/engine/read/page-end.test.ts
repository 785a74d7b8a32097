import fc from 'fast-check';
import { expect, test } from 'vitest';
import transactions from '../../../jobs/transactions.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import { observeAnswer } from '../../../src/engine/read/answer/observe-answer.ts';
import { parseRows } from '../../../src/engine/read/answer/parse-rows.ts';
import type { PageAnswer, Reader } from '../../../src/engine/read/fetch/fetch-page.ts';
import { readPages } from '../../../src/engine/read/read-pages.ts';
import type { Step } from '../../../src/engine/read/step.ts';
import { createRecordParser } from '../../../src/engine/records/parse-record.ts';
import type { Resource } from '../../../src/engine/resource.ts';
import { createTask } from '../../../src/engine/task/task.ts';
import type { Client } from '../../../src/source/client.ts';

const READ_AT = '2026-01-15 10:00:00+00';
/** Lengths at which a single answer without a count may have been cut. */
const CAPS = [20, 50, 100, 200, 250, 500, 1000, 2500];

function resourceWith(traits: Record<string, string>): Resource {
  const profile = profileOf(Object.entries(traits).map(([trait, value]) => ({ trait, value })));
  return {
    source: 'main',
    name: 'transactions',
    job: transactions,
    table: { key: { name: '_key', type: 'text' }, id: { name: 'id', type: 'bigint' } },
    parse: createRecordParser(transactions, { hashed: false, contentKeyed: true }),
    cursor: { version: '0', isLogged: false, readings: {} },
    profile,
    strategy: strategyFor(profile, transactions),
    entries: new Map(),
  } as unknown as Resource;
}

interface Habits {
  readonly rows: readonly object[];
  /** The rows in their order at the nth request, where that is not always the same. */
  readonly orderAt?: (nth: number) => readonly object[];
  readonly pageSize: number;
  readonly pastEnd: 'empty' | '404' | 'last-page';
  readonly counts: boolean;
  readonly ignoresPage?: boolean;
}

/** A source in memory; the requests it was asked. */
function sourceOf({ rows, orderAt = () => rows, pageSize, pastEnd, counts, ignoresPage }: Habits): {
  list: Client['list'];
  asked: number[];
} {
  const asked: number[] = [];
  return {
    asked,
    async list(_path, _query, { page = 1, limit = 20 }) {
      asked.push(page);
      const size = Math.min(limit, pageSize);
      const pages = Math.max(Math.ceil(rows.length / size), 1);
      const answered = { grantedAt: READ_AT, requests: 1 };
      if (page > pages && pastEnd === '404') return { kind: 'gone', ...answered };
      const at = ignoresPage ? 1 : page > pages && pastEnd === 'last-page' ? pages : page;
      const meta = counts ? { currentPage: at, totalPages: pages, totalRecords: rows.length } : undefined;
      const shown = orderAt(asked.length).slice((at - 1) * size, at * size);
      return { kind: 'rows', rows: shown, meta, ...answered } as Awaited<ReturnType<Client['list']>>;
    },
  };
}

async function readAll(habits: Habits, ahead: number, traits: Record<string, string>) {
  const source = sourceOf(habits);
  const reader: Reader = {
    client: { list: source.list } as Client,
    pageSize: 'auto',
    ahead,
    signal: new AbortController().signal,
    admit: async ask => ({ value: await ask(), release: () => undefined }),
    othersAnswering: () => [],
    recall: async () => null,
  };
  const task = createTask({
    kind: 'sync',
    resource: resourceWith(traits),
    runId: '1',
    orderId: '1',
    since: 0,
    lane: 'live',
  });
  const slice = { by: 'whole' as const };
  const reading = {
    slice,
    query: {},
    whenRead: (startedAt: string) => ({ kind: 'proven' as const, slice, startedAt }),
  };
  const steps: Step[] = [];
  for await (const step of readPages(reader, task, reading)) {
    steps.push(step);
    // A reading that never ends would be found here.
    if (steps.length > 1000) throw new Error('it does not end');
  }
  return { steps, asked: source.asked };
}

const idRows = (count: number) => Array.from({ length: count }, (_, index) => ({ id: count - index, amount: 1 }));

test('a list of any length and paging is read completely, with at most one extra page (two if the last page is full; without a count, twice as many)', async () => {
  const habits = fc.record({
    count: fc.oneof(fc.integer({ min: 0, max: 130 }), fc.constantFrom(20, 40, 50, 100, 200)),
    pageSize: fc.integer({ min: 1, max: 120 }),
    pastEnd: fc.constantFrom('empty' as const, '404' as const, 'last-page' as const),
    counts: fc.boolean(),
    ahead: fc.integer({ min: 1, max: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(habits, async ({ count, pageSize, pastEnd, counts, ahead }) => {
      const rows = idRows(count);
      const { steps, asked } = await readAll({ rows, pageSize, pastEnd, counts }, ahead, {
        order: 'id-desc',
        ids: 'yes',
      });
      const shown = steps.flatMap(step => step.rows.map(row => row.key));
      expect(new Set(shown)).toEqual(new Set(rows.map(row => String(row.id))));
      const ends = steps.flatMap(step => step.end ?? []);
      expect(ends).toHaveLength(1);
      expect(steps.at(-1)?.end).toBe(ends[0]);
      // One page that comes again is either all there is or a list cut short: only its length can tell.
      const inDoubt = !counts && pastEnd === 'last-page' && count <= pageSize && CAPS.includes(count);
      expect(ends[0]?.kind).toBe(inDoubt ? 'unproven' : 'proven');
      const pages = Math.max(Math.ceil(count / pageSize), 1);
      // An empty page behind a full one is asked for twice: without a count it would end the list.
      const doubted = !counts && pastEnd !== 'last-page' && count > 0 && count % pageSize === 0 ? 1 : 0;
      // Nothing else tells whether rows slipped between pages.
      const rounds = !counts && pages > 1 ? 2 : 1;
      // A short first page is asked for once more, by another limit.
      expect(asked.length).toBeLessThanOrEqual(rounds * (pages + 1 + doubted) + 1);
      // Within a round, a row comes twice only where the source sends its last page again.
      if (pastEnd !== 'last-page' || counts) expect(shown).toHaveLength(rounds * count);
    }),
    { numRuns: 300 },
  );
});

test('a last page that repeats rows of the first, because equal dates change their order, does not count as ignored paging', async () => {
  const rows = idRows(11);
  const [newest, oldest, between] = [rows[0], rows[10], rows.slice(1, 10)] as [object, object, object[]];
  const orderAt = (nth: number) => (nth === 2 ? [oldest, ...between, newest] : rows);
  const habits = { rows, orderAt, pageSize: 10, pastEnd: 'empty', counts: true } as const;
  const { steps, asked } = await readAll(habits, 1, { ids: 'yes' });
  expect(steps.flatMap(step => step.learnt ?? []).filter(({ trait }) => trait === 'paging')).toEqual([]);
  expect(steps.at(-1)?.end?.kind).toBe('proven');
  expect(new Set(steps.flatMap(step => step.rows.map(row => row.key))).size).toBe(11);
  // The first page is asked for once more by another limit, as it is short.
  expect(asked).toEqual([1, 1, 2, 1, 2]);
});

test('a second page equal to the first counts as ignored paging, even with a count', async () => {
  const habits = { rows: idRows(11), pageSize: 10, pastEnd: 'empty', counts: true, ignoresPage: true } as const;
  const { steps } = await readAll(habits, 1, { ids: 'yes' });
  expect(steps.flatMap(step => step.learnt ?? [])).toContainEqual(expect.objectContaining({ trait: 'paging' }));
  expect(steps.at(-1)?.end?.kind).toBe('unproven');
});

const bare = fc.record({
  type: fc.constantFrom('Income', 'Expense'),
  amount: fc.constantFrom(1, 1.5, '1.50'),
  description: fc.constantFrom('cash', '', null),
  date: fc.constantFrom('2026-01-14', '2026-01-15'),
});

test('a last page repeated past the end is not mistaken for a new page, even if its rows were edited or deleted in between', () => {
  const learntFrom = (before: readonly object[], rows: readonly object[]) => {
    const answer = { meta: undefined, grantedAt: READ_AT, requests: 1, limit: 4, release: () => undefined };
    const [last, next] = [
      { ...answer, page: 3, rows: before },
      { ...answer, page: 4, rows },
    ];
    const learnt = observeAnswer(resourceWith({ ids: 'yes' }), next, { pages: null, previous: last });
    return Object.fromEntries(learnt.map(({ trait, value }) => [trait, value]));
  };
  const row = (id: number, title = 'as it was') => ({ id, title });
  expect(learntFrom([row(1)], [row(1, 'edited')])).toEqual({});
  expect(learntFrom([row(2), row(1)], [row(2, 'edited'), row(1, 'edited')])).toEqual({});
  expect(learntFrom([row(2), row(1)], [row(6), row(5), row(4), row(3)])).toEqual({ paging: 'until empty' });
  // Pages of one row could not overlap.
  expect(learntFrom([row(2)], [row(1)])).toEqual({ paging: 'until empty' });
  expect(learntFrom([row(5), row(4), row(3)], [row(2), row(1)])).toEqual({ paging: 'until empty', 'page size': '3' });
});

test('any number of equal rows without an id get distinct and stable keys, in any order and on any pages', () => {
  const resource = resourceWith({ ids: 'no' });
  const keysOf = (rows: readonly object[], pageSize: number): string[] => {
    const seen = new Set<string>();
    for (let start = 0; start < rows.length; start += pageSize) {
      const page = { rows: rows.slice(start, start + pageSize), grantedAt: READ_AT } as unknown as PageAnswer;
      for (const key of parseRows(resource, page, seen).keys) seen.add(key);
    }
    return [...seen].sort();
  };
  const pageSize = fc.integer({ min: 1, max: 8 });
  const shuffled = fc
    .array(bare, { maxLength: 25 })
    .chain(rows =>
      fc.tuple(fc.constant(rows), fc.shuffledSubarray(rows, { minLength: rows.length, maxLength: rows.length })),
    );
  fc.assert(
    fc.property(shuffled, pageSize, pageSize, ([rows, others], size, otherSize) => {
      const keys = keysOf(rows, size);
      expect(keys).toHaveLength(rows.length);
      expect(keysOf(others, otherSize)).toEqual(keys);
      // One more of a kind is one more key; the others stay.
      if (rows[0]) expect(keysOf([...rows, rows[0]], size)).toEqual(expect.arrayContaining(keys));
    }),
    { numRuns: 500 },
  );
});
