import { describe, expect, test } from 'vitest';
import type { Rows } from '../../../sandbox/data/rows.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { variantPoints } from '../../../sandbox/variants/variant-points.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { addDays } from '../../../src/engine/slices/date-windows.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import type { TestResource } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

/** At least two pages of 20 rows of each list. */
const SIZE = { customers: 50, invoices: 60, transactions: 90 };
const LISTS = ['customers', 'tickets', 'transactions', 'suppliers'] as const satisfies TestResource[];
const LAST = '9223372036854775807';

describe.each(
  some(
    [
      { order: 'id-desc' },
      { order: 'id-asc' },
      { order: 'id-asc', paging: 'no-meta' },
      { order: 'id-asc', paging: 'no-meta', 'date-filter': 'ignored' },
    ] as Partial<Variants>[],
    1,
  ),
)('%j', variants => {
  test('an id of 2^63-1 is stored, and its list goes on', async () => {
    await withSource({ ...variants, ids: 'edge' }, async (database, sandbox, sync) => {
      for (const resource of LISTS) for (const id of [2, 3]) sandbox.remove(resource, id);
      for (let times = 0; times < 3; times++) {
        expect(await sync()).toEqual(LISTS.map(() => 'done'));
        expect(await apart(database, sandbox)).toEqual([]);
        sandbox.changeRandom(10);
        sandbox.changeOthers(10);
      }
      expect(await storedBeyond(database, LAST)).toEqual(LISTS.map(() => LAST));
      for (const resource of LISTS) sandbox.remove(resource, 1);
      for (let times = 0; times < 3; times++) expect(await sync()).toEqual(LISTS.map(() => 'done'));
      expect(await apart(database, sandbox)).toEqual([]);
      if (variants.paging !== 'no-meta') expect(await storedBeyond(database, LAST)).toEqual([]);
    });
  });

  test('an id beyond 64 bits is put in quarantine under its name, and its list goes on', async () => {
    await withSource({ ...variants, ids: 'edge' }, async (database, sandbox, sync) => {
      for (let times = 0; times < 3; times++) {
        expect(await sync()).toEqual(LISTS.map(() => 'done'));
        expect(await apart(database, sandbox)).toEqual([]);
        for (const id of [2, 3]) sandbox.update('customers', id, { city: `City ${times}` });
        sandbox.changeRandom(10);
      }
      const { rows } = await database.query(
        `select key, reasons->>'id' as reason from sluice.quarantine
          where resource = 'customers' and resolved_at is null order by key`,
      );
      expect(rows).toEqual(
        ['?12345678901234567890', '?9223372036854775808'].map(key => ({
          key,
          reason: 'a whole number beyond 64 bits',
        })),
      );
    });
  });
});

test('a record with an id beyond 64 bits is none of the stored rows, so that those that are gone are deleted', async () => {
  await withSource({}, async (database, sandbox, sync) => {
    expect(await sync()).toEqual(LISTS.map(() => 'done'));
    sandbox.setVariants({ ids: 'edge' });
    for (const resource of LISTS) sandbox.remove(resource, [...sandbox.rows(resource)].at(-1)?.id as number);
    for (let times = 0; times < 3; times++) expect(await sync()).toEqual(LISTS.map(() => 'done'));
    expect(await differences(database, sandbox, 20, LISTS)).toEqual([]);
  });
});

test('a window of a day that shows a record with an id beyond 64 bits may lack a row', async () => {
  const invoices: TestResource[] = ['invoices'];
  await withSource(
    { ids: 'edge' },
    async (database, sandbox, sync) => {
      const row = [...sandbox.rows('invoices')].find(({ id }) => id === 2) as Rows['invoices'];
      const day = row.date as string;
      for (const date of [addDays(day, -1), day, addDays(day, 1)])
        for (let times = 0; times < 90; times++) sandbox.insert('invoices', { ...row, date });
      // Windows are asked for by just their days once the source was seen to include them.
      for (let times = 0; times < 2; times++) expect(await sync()).toEqual(['done']);
      sandbox.remove('invoices', [...sandbox.rows('invoices')].findLast(({ date }) => date === day)?.id as number);
      for (let times = 0; times < 2; times++) expect(await sync()).toEqual(['done']);
      expect(await differences(database, sandbox, 5, invoices)).toEqual([]);
    },
    invoices,
  );
});

/** Without a count, a row behind the end of a list is kept until something agrees with that end; then the list is not called complete. */
async function apart(database: Database, sandbox: Sandbox): Promise<string[]> {
  const { rows } = await database.query<{ resource: string }>(
    `select resource from sluice.complete('-infinity', 'infinity') where not complete`,
  );
  const open = new Set(rows.map(({ resource }) => resource));
  const found = await differences(database, sandbox, Number.POSITIVE_INFINITY, LISTS);
  return found.filter(text => !(open.has(text.split(' ')[0] ?? '') && text.endsWith(' is not at the source')));
}

const COUNTS = Object.keys(variantPoints['count-values'].values) as Variants['count-values'][];

test.each(some(COUNTS, 1))('counts that no list has stop none of them: %s', async values => {
  await withSource({ 'count-values': values }, async (database, sandbox, sync) => {
    // A wrong count is believed until three tasks have found it wrong.
    for (let times = 0; times < 4; times++) await sync();
    expect(await sync()).toEqual(LISTS.map(() => 'done'));
    expect(await differences(database, sandbox, 5, LISTS)).toEqual([]);
    const { rows } = await database.query('select reason from sluice.runs where reason like $1', ['%unexpected%']);
    expect(rows).toEqual([]);
  });
});

test('a value beyond its type is put in quarantine with the name of its field', async () => {
  const beyond = {
    customer_id: '9223372036854775808',
    account_id: '-9223372036854775809',
    category_id: 1e300,
    amount: '1e1001',
    date: '10000-01-01',
  };
  await withSource({}, async (database, sandbox, sync) => {
    const wrong = [
      ['tickets', 'customer_id', beyond.customer_id],
      ['tickets', 'department_id', '12345678901234567890'],
      ['transactions', 'account_id', beyond.account_id],
      ['transactions', 'category_id', beyond.category_id],
      ['transactions', 'amount', beyond.amount],
      ['transactions', 'amount', '9'.repeat(131_073)],
      ['transactions', 'amount', `0.${'1'.repeat(16_384)}`],
      ['transactions', 'date', beyond.date],
    ] as const;
    const rows = { tickets: [...sandbox.rows('tickets')], transactions: [...sandbox.rows('transactions')] };
    const expected: string[] = [];
    for (const [index, [resource, field, value]] of wrong.entries()) {
      const id = rows[resource][10 + index]?.id as number;
      sandbox.update(resource, id, { [field]: value as never });
      expected.push(`${resource} ${id} ${field}`);
    }
    expect(await sync()).toEqual(LISTS.map(() => 'done'));
    const { rows: aside } = await database.query<{ said: string }>(
      `select concat_ws(' ', resource, key, (select string_agg(k, ' ') from jsonb_object_keys(reasons) k)) as said
        from sluice.quarantine`,
    );
    expect(aside.map(({ said }) => said).sort()).toEqual(expected.sort());
    expect(await differences(database, sandbox, 20, LISTS)).toHaveLength(wrong.length);
  });
});

async function storedBeyond(database: Database, id: string): Promise<unknown[]> {
  const tables = LISTS.map(name => `select id from warehouse.${name} where id >= ${id}`);
  const { rows } = await database.query(tables.join(' union all '));
  return rows.map(row => row.id);
}

type Sync = () => Promise<string[]>;

async function withSource(
  variants: Partial<Variants>,
  work: (database: Database, sandbox: Sandbox, sync: Sync) => Promise<void>,
  resources: readonly TestResource[] = LISTS,
) {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources, pageSize: 20 });
    try {
      await work(database, sandbox, async () =>
        (await serveOrders(engine, 'sync', { whole: true })).map(({ state, reason }) => reason ?? state),
      );
    } finally {
      await engine.close();
    }
  });
  await sandbox.close();
}
