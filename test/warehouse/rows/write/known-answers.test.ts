import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { declareTable } from '../../../../src/engine/records/declare-table.ts';
import { tableIn } from '../../../../src/warehouse/rows/tables.ts';
import { keepAnswers, readAnswers, stillStored } from '../../../../src/warehouse/rows/write/known-answers.ts';
import { withDatabase } from '../../../support/database.ts';
import { JOBS } from '../../../support/resources.ts';

const PLACE = { source: 'main', resource: 'invoices' };
const table = tableIn('warehouse', declareTable('invoices', JOBS.invoices));
const ANY = { query: '', from: 0, to: 1e6, most: 1000 };

/** An answer without a filter. */
const answer = (page: number, limit: number, keys: readonly string[], digest = 'd') => ({
  ...{ query: '', page, limit, digest, fields: 'amount', keys },
});

const STORED = `
  insert into warehouse.invoices (id, amount, _read_at, _synced_at) select id, id, now(), now() from generate_series(1, 60) id;
  insert into warehouse.invoice_items (invoice_id, line, amount) select id, line, 1 from generate_series(1, 60) id, generate_series(1, 2) line`;

test('an answer is known by its keys in their order, whatever that is', async () => {
  await withDatabase(async ({ kysely, query }) => {
    await query(STORED);
    const ids = fc.integer({ min: 1, max: 60 }).map(String);
    const order = fc.constantFrom(
      (keys: string[]) => keys.sort((a, b) => Number(a) - Number(b)),
      (keys: string[]) => keys.sort((a, b) => Number(b) - Number(a)),
      (keys: string[]) => keys,
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(ids, { minLength: 1 }), order, async (given, inOrder) => {
        const keys = inOrder(given);
        await keepAnswers(kysely, PLACE, table, [answer(3, 20, keys)]);
        const [known] = await readAnswers(kysely, PLACE, ANY);
        expect(known).toMatchObject({ page: 3, limit: 20, digest: 'd', fields: 'amount', keys });
        expect(await stillStored(kysely, table, [known as never])).toEqual([true]);
      }),
      { numRuns: 60 },
    );
  });
});

test.each([
  ['a value', 'update warehouse.invoices set amount = 0 where id = 5'],
  ['a row', 'delete from warehouse.invoices where id = 5'],
  ['a child row', 'delete from warehouse.invoice_items where invoice_id = 5 and line = 2'],
  ['a value of a child row', 'update warehouse.invoice_items set amount = 2 where invoice_id = 5 and line = 2'],
  ['the order of child rows', 'update warehouse.invoice_items set line = 3 where invoice_id = 5 and line = 2'],
  [
    'a child row put back',
    'delete from warehouse.invoice_items where invoice_id = 5 and line = 2; insert into warehouse.invoice_items (invoice_id, line, amount) values (5, 2, 1)',
  ],
])('what is stored otherwise is told from what the answer showed: %s', async (_what, change) => {
  await withDatabase(async ({ kysely, query }) => {
    await query(STORED);
    // A column of somebody else, of a type that has no hash.
    await query('alter table warehouse.invoices add column place point');
    const keys = Array.from({ length: 10 }, (_, index) => `${index + 1}`);
    await keepAnswers(kysely, PLACE, table, [answer(1, 10, keys), answer(2, 10, ['11', '12'])]);
    const known = await readAnswers(kysely, PLACE, ANY);
    expect(await stillStored(kysely, table, known)).toEqual([true, true]);
    await query(change);
    expect(await stillStored(kysely, table, known)).toEqual([false, true]);
  });
});

test('of rows that its transaction inserted, an answer is kept without a look at them', async () => {
  await withDatabase(async ({ kysely, query, transaction }) => {
    const keep = (lines: number) =>
      transaction(async tx => {
        await sql.raw(STORED).execute(tx);
        const inserted = new Map(Object.entries({ 2: 2, 3: lines }));
        await keepAnswers(tx, PLACE, table, [{ ...answer(1, 3, ['1', '2', '3']), inserted }, answer(2, 3, ['3'])]);
      });
    const areStored = async () => stillStored(kysely, table, await readAnswers(kysely, PLACE, ANY));
    await keep(2);
    expect(await areStored()).toEqual([true, true]);
    await query('delete from warehouse.invoice_items where invoice_id = 2 and line = 1');
    expect(await areStored()).toEqual([false, true]);
    // Something altered what was inserted: it is not as the answer showed it.
    await query('truncate warehouse.invoices, warehouse.invoice_items');
    await keep(1);
    expect(await areStored()).toEqual([false, true]);
  });
});

test('a column that was dropped and created anew is told from what the answers showed', async () => {
  await withDatabase(async ({ kysely, query }) => {
    await query(STORED);
    const isKept = async () => {
      await keepAnswers(kysely, PLACE, table, [answer(1, 2, ['1', '2'])]);
      return stillStored(kysely, table, await readAnswers(kysely, PLACE, ANY));
    };
    for (const each of ['invoices', 'invoice_items']) {
      expect(await isKept()).toEqual([true]);
      await query(`alter table warehouse.${each} drop column amount cascade`);
      await query(`alter table warehouse.${each} add column amount numeric`);
      expect(await stillStored(kysely, table, await readAnswers(kysely, PLACE, ANY))).toEqual([false]);
    }
  });
});

test('an answer replaces those that began among its rows, and is not kept while one of its rows is not stored', async () => {
  await withDatabase(async ({ kysely, query }) => {
    await query(STORED);
    const keys = (from: number, count: number) => Array.from({ length: count }, (_, index) => `${from + index}`);
    await keepAnswers(kysely, PLACE, table, [
      answer(1, 10, keys(1, 10)),
      answer(2, 9, keys(10, 9)),
      answer(10, 2, keys(19, 2)),
    ]);
    await keepAnswers(kysely, PLACE, table, [answer(1, 19, keys(1, 19))]);
    const pages = (await readAnswers(kysely, PLACE, ANY)).map(({ page, limit }) => [page, limit]);
    expect(pages).toEqual([
      [1, 19],
      [10, 2],
    ]);
    await keepAnswers(kysely, PLACE, table, [answer(1, 19, [...keys(1, 18), '61'])]);
    expect((await readAnswers(kysely, PLACE, ANY)).map(({ keys: known }) => known.at(-1))).toEqual(['19', '20']);
  });
});
