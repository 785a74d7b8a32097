import { expect, test } from 'vitest';
import { z } from 'zod';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import {
  dateWindow,
  decimal,
  defineJob,
  idRange,
  integer,
  type Job,
  list,
  text,
  timestamp,
} from '../../../src/engine/job.ts';
import { declareTables } from '../../../src/engine/records/declare-table.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { migrate } from '../../../src/warehouse/database/migrate.ts';
import { MIGRATIONS, withDatabase } from '../../support/database.ts';
import { JOBS } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const clients = (more: z.ZodRawShape = {}): Job =>
  defineJob({
    path: '/api/v2/customers',
    description: 'A client.',
    key: 'id',
    record: z.object({ id: integer('The id.'), account: text('The name.'), ...more }),
    slicings: [idRange()],
  });

const bills = (more: z.ZodRawShape = {}, children: Job['children'] = {}): Job =>
  defineJob({
    path: '/api/v2/invoices',
    description: 'A bill.',
    key: 'id',
    withoutKey: 'quarantine',
    record: z.object({ id: integer('The id.'), date: JOBS.invoices.record.shape.date, ...more }),
    children,
    slicings: [dateWindow('date', 'date_from', 'date_to')],
  });

const apply = (database: Database, jobs: Record<string, Job>, notices: string[] = []) =>
  migrate({
    database,
    ...MIGRATIONS,
    lists: declareTables(Object.entries(jobs)),
    onNotice: text => notices.push(text),
  });

async function sync(database: Database, sandbox: Sandbox, jobs: Record<string, Job>) {
  const engine = await openEngine(database, sandbox, { jobs });
  try {
    return await serveOrders(engine, 'sync', { whole: true });
  } finally {
    await engine.close();
  }
}

const ask = async (database: Database, text: string) => (await database.query(text)).rows;

test('a list is read, queried and kept by its job alone', async () => {
  const sandbox = await openSandbox({ size: 'small' });
  await withDatabase(async database => {
    const jobs = { clients: clients() };
    expect(await apply(database, jobs)).toEqual(['warehouse/clients']);
    expect(await apply(database, jobs)).toEqual([]);
    expect(await sync(database, sandbox, jobs)).toMatchObject([{ state: 'done' }]);
    const [shown] = await ask(database, 'select count(*)::int as count from warehouse.clients_as_of(sluice.now())');
    expect(shown).toEqual({ count: [...sandbox.rows('customers')].length });
  });
  await sandbox.close();
});

test('a field that a job adds is filled from what is stored, without a request, and is then equal to the source', async () => {
  const sandbox = await openSandbox({ size: 'small' });
  await withDatabase(async database => {
    await apply(database, { clients: clients() });
    await sync(database, sandbox, { clients: clients(), customers: JOBS.customers });
    const before = sandbox.stats.total;
    const jobs = { clients: clients({ city: text('The city.'), updated_at: timestamp('The change.') }) };
    expect(await apply(database, jobs)).toEqual(['warehouse/clients.city', 'warehouse/clients.updated_at']);
    expect(sandbox.stats.total).toBe(before);
    expect(
      await ask(
        database,
        `select id, account, city, updated_at from warehouse.clients
        except select id, account, city, updated_at from warehouse.customers`,
      ),
    ).toEqual([]);
    expect(await ask(database, `select 1 from warehouse.clients where _extra ?| array['city', 'updated_at']`)).toEqual(
      [],
    );
    await sync(database, sandbox, jobs);
    const [written] = await ask(
      database,
      `select sum(updated)::int as rows from sluice.runs where resource = 'clients'`,
    );
    expect(written).toEqual({ rows: 0 });
  });
  await sandbox.close();
});

test('a field of a list with rows inside that becomes a column changes no row', async () => {
  const sandbox = await openSandbox({ size: { customers: 20, invoices: 60, transactions: 20 } });
  await withDatabase(async database => {
    const items = list(z.object({ description: text('What.'), amount: decimal('The price.') }));
    const children = { items: { table: 'bill_lines', parent: 'bill_id', description: 'A line.' } };
    const without = { bills: bills({ items }, children) };
    const withNotes = { bills: bills({ items, notes: text('Notes.') }, children) };
    await apply(database, without);
    await sync(database, sandbox, without);
    const changedBefore = async () =>
      ask(
        database,
        `select (select sum(updated)::int from sluice.runs) as updated, (select count(*)::int from warehouse.row_history) as versions`,
      );
    await apply(database, withNotes);
    await sync(database, sandbox, withNotes);
    expect(await changedBefore()).toEqual([{ updated: 0, versions: 0 }]);
    // As where a column is put back, or the values of a field are masked.
    await database.query('update warehouse.bills set _hash = null');
    await sync(database, sandbox, withNotes);
    expect(await changedBefore()).toEqual([{ updated: 0, versions: 0 }]);
    expect(await ask(database, 'select from warehouse.bills where _hash is null')).toEqual([]);
    // Edits are seen as ever.
    const [{ id } = { id: 0 }] = [...sandbox.rows('invoices')];
    sandbox.update('invoices', id, { notes: 'new' });
    await sync(database, sandbox, withNotes);
    expect(await changedBefore()).toEqual([{ updated: 1, versions: 1 }]);
    expect(await ask(database, `select notes from warehouse.bills where id = ${id}`)).toEqual([{ notes: 'new' }]);
  });
  await sandbox.close();
});

test('a list inside a row that a job adds becomes rows, without a request', async () => {
  const sandbox = await openSandbox({ size: 'small' });
  await withDatabase(async database => {
    await apply(database, { bills: bills() });
    await sync(database, sandbox, { bills: bills(), invoices: JOBS.invoices });
    const before = sandbox.stats.total;
    const items = list(z.object({ description: text('What.'), qty: decimal('How many.') }));
    const more = bills({ amount: decimal('The total.'), items }, { items: { table: 'bill_items', parent: 'bill_id' } });
    expect(await apply(database, { bills: more })).toEqual([
      'warehouse/bills.amount',
      'warehouse/bills._hash',
      'warehouse/bill_items',
    ]);
    expect(sandbox.stats.total).toBe(before);
    expect(
      await ask(
        database,
        `select bill_id, line, description, qty from warehouse.bill_items
        except select invoice_id, line, description, qty from warehouse.invoice_items`,
      ),
    ).toEqual([]);
    expect(
      await ask(database, 'select id, amount from warehouse.bills except select id, amount from warehouse.invoices'),
    ).toEqual([]);
    const counts = `select (select count(*) from warehouse.bill_items) = (select count(*) from warehouse.invoice_items) as equal,
      (select count(*) from warehouse.bill_items where _extra ? 'amount') > 0 as kept,
      (select items from warehouse.bills_history order by id limit 1) = (select jsonb_agg(to_jsonb(i) - 'bill_id' order by line)
        from warehouse.bill_items i where bill_id = (select min(id) from warehouse.bills)) as shown`;
    expect(await ask(database, counts)).toEqual([{ equal: true, kept: true, shown: true }]);

    const amounts = list(
      z.object({ description: text('What.'), qty: decimal('How many.'), amount: decimal('Price.') }),
    );
    const most = bills({ amount: decimal('The total.'), items: amounts }, more.children);
    expect(await apply(database, { bills: most })).toEqual(['warehouse/bill_items.amount']);
    expect(
      await ask(
        database,
        `select bill_id, line, amount from warehouse.bill_items
        except select invoice_id, line, amount from warehouse.invoice_items`,
      ),
    ).toEqual([]);
    const rows = () => ask(database, 'select id, amount, _extra from warehouse.bills order by id');
    const filled = await rows();
    await sync(database, sandbox, { bills: most });
    expect(await rows()).toEqual(filled);
  });
  await sandbox.close();
});
