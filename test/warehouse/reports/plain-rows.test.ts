import { expect, test } from 'vitest';
import { z } from 'zod';
import { date, decimal, defineJob, integer, type Job, list, text } from '../../../src/engine/job.ts';
import { declareTables } from '../../../src/engine/records/declare-table.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { migrate } from '../../../src/warehouse/database/migrate.ts';
import { MIGRATIONS, withDatabase } from '../../support/database.ts';

const name = { id: integer('The id.'), name: text('The name.') };
const items = (fields: Parameters<typeof z.object>[0]) => ({
  items: list(z.object({ what: text('What.'), ...fields })),
});
const CHILDREN = { items: { table: 'lead_items', parent: 'lead_key', description: 'An item.' } };

const job = (fields: Parameters<typeof z.object>[0]): Job =>
  defineJob({
    path: '/api/v2/leads',
    description: 'A lead.',
    key: 'id',
    record: z.object({ ...name, ...fields }),
    ...('items' in (fields ?? {}) ? { children: CHILDREN } : {}),
    slicings: [],
  } as never);

const declare = (database: Database, declared: Job, putsBack = false) =>
  migrate({ database, ...MIGRATIONS, lists: declareTables([['leads', declared]]), putsBack });

/** Stores a lead whose name was changed from A to B. */
async function changeName(database: Database, extra: object | null, itemExtra: object | null): Promise<void> {
  const json = (value: object | null) => (value === null ? null : JSON.stringify(value));
  await database.query(
    `insert into warehouse.leads (_key, id, name, _extra, _synced_at, _read_at) values ('1', 1, 'B', $1, now(), now())`,
    [json(extra)],
  );
  const hasItems = (await database.query(`select to_regclass('warehouse.lead_items') as at`)).rows[0]?.at !== null;
  if (hasItems)
    await database.query(`insert into warehouse.lead_items (lead_key, line, what, _extra) values ('1', 1, 'x', $1)`, [
      json(itemExtra),
    ]);
  await database.query(`insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by, number)
    select 'leads', '1', to_jsonb(t) || '{"name":"A"}' ${
      hasItems
        ? `|| jsonb_build_object('items', (select jsonb_agg(to_jsonb(c) - 'lead_key') from warehouse.lead_items c))`
        : ''
    }, now(), now(), 'changed', 1 from warehouse.leads t`);
  await database.query(`insert into warehouse.change_log values (1, 'leads', '1', 'updated', null, now(), 1)`);
}

test.each([
  {
    what: 'fields become columns',
    before: job({}),
    after: job({ note: text('A note.'), amount: decimal('An amount.'), due: date('A day.') }),
    extra: { note: '', amount: '5.0', due: 'someday' },
  },
  {
    what: 'a field of its lines becomes a column',
    before: job(items({})),
    after: job(items({ price: decimal('A price.') })),
    itemExtra: { price: '5.00' },
  },
  {
    what: 'a list becomes a table',
    before: job({}),
    after: job(items({})),
    extra: { items: [{ what: 'x' }] },
  },
])('$what: that changes no row, nor does putting it back', async ({ before, after, extra, itemExtra }) => {
  await withDatabase(async database => {
    const changes = async () => (await database.query('select before, after from warehouse.changes')).rows;
    await declare(database, before);
    await changeName(database, extra ?? null, itemExtra ?? null);
    const expected = [{ before: { name: 'A' }, after: { name: 'B' } }];
    expect(await changes()).toEqual(expected);
    await declare(database, after);
    expect(await changes()).toEqual(expected);
    await declare(database, before, true);
    expect(await changes()).toEqual(expected);
  });
});
