import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../src/warehouse/database/database.ts';
import { withDatabase } from '../support/database.ts';
import { withLists } from './lists/with-lists.ts';
import { type Ended, KEY, run, useBuild } from './run-command.ts';

useBuild();

const HASH_KEY = '0123456789abcdef0123456789abcdef';
const RULES = {
  SOURCE_NEVER: 'customers.phone, iban, invoices.items.description',
  SOURCE_HASH: 'customers.email,users.email',
  SLUICE_HASH_KEY: HASH_KEY,
};

interface Customer {
  id: unknown;
  account: string;
  phone: string | null;
  email: string | null;
  more?: unknown;
}

interface Given {
  readonly customers: Customer[];
  readonly database: Database;
  readonly sluice: (args: string, more?: Readonly<Record<string, string>>) => Promise<Ended>;
  /** The tables in which a value stands. */
  readonly placesOf: (text: string) => Promise<string[]>;
}

async function withPeople(fn: (given: Given) => Promise<void>): Promise<void> {
  const customers: Customer[] = [
    { id: 1, account: 'Ann', phone: 'planted-1', email: 'ann@planted.example', more: { IBAN: 'planted-2', n: 1.5 } },
    { id: 2, account: 'Bob', phone: null, email: '' },
    { id: 'x', account: 'Eve', phone: 'planted-3', email: 'eve@planted.example' },
  ];
  const lists = {
    customers,
    users: [{ id: 5, name: 'Ann', email: 'ann@planted.example' }],
    suppliers: [{ id: 9, name: 'Ann', bank: { iban: 'planted-9', sum: 1.25 } }],
    invoices: [
      {
        ...{ id: 7, date: '2026-01-15', amount: '10.50', notes: ' {"IBAN": "planted-10"}' },
        items: [{ description: 'planted-4', qty: 2, iban: 'planted-5' }],
      },
    ],
  };
  await withLists(lists as never, async url => {
    await withDatabase(async (database, own) => {
      const env = { SOURCE_URL: url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url, SOURCE_LAG_SECONDS: '0' };
      const sluice = (args: string, more = {}) => run(args.split(' '), { env: { ...env, ...more } });
      await sluice('sync customers users invoices suppliers');
      Object.assign(customers[0] as Customer, { phone: 'planted-6' });
      await sluice('sync customers');
      const placesOf = async (text: string) => {
        const { rows } = await database.query<{ name: string }>(
          `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('warehouse', 'sluice') order by 1`,
        );
        const places: string[] = [];
        for (const { name } of rows) {
          const found = await database.query(`select from ${name} t where position($1 in t::text) > 0 limit 1`, [text]);
          if (found.rows.length > 0) places.push(name);
        }
        return places;
      };
      await fn({ customers, database, sluice, placesOf });
    });
  });
}

const ask = async (database: Database, query: string) => (await database.query(query)).rows;
const JOINED = `select u.id::int, c.account, c.phone from warehouse.users u join warehouse.customers c using (email) where c.email <> ''`;
const SYNCED = 'select _synced_at from warehouse.invoices';
const STORED = `select id::int, account, phone, length(email) as email, _extra from warehouse.customers order by id`;

test('what must not be stored leaves every table at the next start, and hashes join', async () => {
  await withPeople(async ({ database, sluice, placesOf }) => {
    expect(await placesOf('planted')).toEqual([
      'sluice.quarantine',
      'warehouse.customers',
      'warehouse.invoice_items',
      'warehouse.invoices',
      'warehouse.row_history',
      'warehouse.suppliers',
      'warehouse.users',
    ]);
    const { stdout } = await sluice('migrate --dry-run', RULES);
    for (const name of [
      'customers.phone erased',
      'customers.email hashed',
      'users.email hashed',
      'invoices.items.description erased',
    ])
      expect(stdout).toContain(`warehouse/${name}`);
    expect(await placesOf('planted-6')).toHaveLength(1);

    const synced = await ask(database, SYNCED);
    const { stderr } = await sluice('migrate', RULES);
    expect(stderr).toContain('1 row of warehouse.customers masked.');
    expect(await placesOf('planted')).toEqual([]);
    expect(await ask(database, STORED)).toEqual([
      { id: 1, account: 'Ann', phone: null, email: 64, _extra: { more: { n: 1.5 } } },
      { id: 2, account: 'Bob', phone: null, email: 0, _extra: null },
    ]);
    expect(await ask(database, `select notes, _hash from warehouse.invoices`)).toEqual([{ notes: '{}', _hash: null }]);
    expect(await ask(database, `select record from warehouse.suppliers`)).toEqual([
      { record: { id: 9, name: 'Ann', bank: { sum: 1.25 } } },
    ]);
    // Whoever copies changed rows on sees that an invoice has other lines.
    expect(await ask(database, SYNCED)).not.toEqual(synced);
    expect(await ask(database, JOINED)).toEqual([{ id: 5, account: 'Ann', phone: null }]);
    expect(
      await ask(database, `select rule, counts from sluice.masks where resource = 'customers' and field = 'phone'`),
    ).toEqual([
      { rule: 'never', counts: { 'warehouse.customers': 1, 'warehouse.row_history': 1, 'sluice.quarantine': 1 } },
    ]);
  });
});

test('masked rows were there before, as they are now, and what a run did before can still be undone', async () => {
  await withPeople(async ({ customers, database, sluice }) => {
    Object.assign(customers[0] as Customer, { account: 'Anna' });
    await sluice('sync customers');
    const [last] = await ask(database, 'select max(id)::int as id, sluice.now() as at from sluice.runs');
    await sluice('migrate', RULES);
    const asOf = (list: string, columns: string) =>
      database
        .query(`select ${columns} from warehouse.${list}_as_of($1) order by id`, [last?.at])
        .then(({ rows }) => rows);
    expect(await asOf('customers', 'account, phone')).toEqual([
      { account: 'Anna', phone: null },
      { account: 'Bob', phone: null },
    ]);
    expect(await asOf('invoices', `amount::text, items->0->>'description' as text`)).toEqual([
      { amount: '10.5', text: null },
    ]);
    expect((await sluice(`undo ${String(last?.id)}`, RULES)).stdout).toContain('1 replaced row');
    expect((await ask(database, STORED))[0]).toMatchObject({ account: 'Ann', phone: null });
  });
});

test('what is read afterwards is as it was masked, and the record in quarantine, too', async () => {
  await withPeople(async ({ customers, database, sluice, placesOf }) => {
    await sluice('migrate', RULES);
    const before = await ask(database, STORED);
    Object.assign(customers[1] as Customer, { account: 'Bobby', phone: 'planted-7' });
    expect((await sluice('sync customers users invoices', RULES)).stdout).toMatch(/^customers +0 +1 /m);
    expect(await placesOf('planted')).toEqual([]);
    expect(await ask(database, STORED)).toEqual([before[0], { ...before[1], account: 'Bobby' }]);
    expect(await ask(database, JOINED)).toHaveLength(1);
    const status = (await sluice('status --json', RULES)).json();
    expect(JSON.stringify(status)).not.toContain('planted');
  });
});

test('pushed lines are emptied, and their files fill them again', async () => {
  await withPeople(async ({ database, sluice, placesOf }) => {
    await database.query(
      `insert into sluice.pushes (source, resource, file, lines, started_at) values ('main', 'leads', 'x.csv', 1, now())`,
    );
    await database.query(`insert into sluice.push_items (source, resource, hash, ordinal, push_id, line, body)
      select 'main', r, 'h' || r, 1, id, 1, case r when 'tickets' then '{"subject": "A"}' else '{"phone": "planted-11"}' end::jsonb from sluice.pushes, unnest('{leads,customers,tickets}'::text[]) r`);
    await sluice('migrate', RULES);
    expect(await placesOf('planted')).toEqual([]);
    expect(await ask(database, `select resource, body from sluice.push_items order by 1`)).toEqual([
      { resource: 'customers', body: {} },
      { resource: 'leads', body: {} },
      { resource: 'tickets', body: { subject: 'A' } },
    ]);
  });
});

test('a process without the setting stores nothing; migrate lifts it', async () => {
  await withPeople(async ({ database, sluice, placesOf }) => {
    await sluice('migrate', RULES);
    const refused = await sluice('sync customers');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('customers.phone')]);
    expect(await placesOf('planted')).toEqual([]);
    expect((await sluice('migrate --dry-run')).stdout).toContain('warehouse/customers.phone stored again');
    expect(await sluice('migrate')).toMatchObject({ code: 0 });
    // Hashes among what comes from now on would be taken for values.
    expect(await ask(database, 'select email from warehouse.users')).toEqual([{ email: null }]);
    await sluice('sync customers users');
    expect(await ask(database, JOINED)).toEqual([{ id: 5, account: 'Ann', phone: 'planted-6' }]);
  });
});

test('with another key, hashes are made anew from what is read', async () => {
  await withPeople(async ({ database, sluice }) => {
    const hashes =
      'select distinct email from warehouse.users union select email from warehouse.customers where id = 1';
    await sluice('migrate', RULES);
    const [before] = await ask(database, hashes);
    const other = { ...RULES, SLUICE_HASH_KEY: HASH_KEY.toUpperCase() };
    // A command of another machine must not erase them.
    const refused = await sluice('sync products', other);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('were made with another SLUICE_HASH_KEY'),
    ]);
    expect(await ask(database, hashes)).toEqual([before]);
    await sluice('migrate', other);
    expect(await ask(database, hashes)).toEqual([{ email: null }]);
    await sluice('sync customers users', other);
    const after = await ask(database, hashes);
    expect([after.length, after[0]?.email]).toEqual([1, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(after[0]).not.toEqual(before);
  });
});

test('a mask alone changes no earlier version: a row that comes back is known, and its lines are not rewritten', async () => {
  await withPeople(async ({ customers, database, sluice }) => {
    const [ann] = customers.splice(0, 1);
    await sluice('sync customers --full --accept-deletes 1');
    await sluice('sync customers --full --accept-deletes 1');
    const ended = `select ended_by from warehouse.row_history where resource = 'customers' and key = '1' order by valid_to desc limit 1`;
    expect(await ask(database, ended)).toEqual([{ ended_by: 'deleted' }]);
    await sluice('migrate', RULES);
    customers.unshift(ann as Customer);
    await sluice('sync customers --full', { SOURCE_NEVER: RULES.SOURCE_NEVER, SOURCE_HASH: '' });
    await sluice('sync customers --full', RULES);
    const { rows } = await database.query<{ lines: string }>(
      `select row->>'items' as lines from warehouse.row_history where resource = 'invoices'`,
    );
    expect(rows.filter(({ lines }) => lines.includes('planted'))).toEqual([]);
  });
});

test('a person whose contacts are masked is found elsewhere by what is named', async () => {
  await withPeople(async ({ customers, database, sluice, placesOf }) => {
    await sluice('migrate', RULES);
    await database.query(
      `insert into sluice.runs (source, resource, kind, state, reason, started_at) values ('main', 'customers', 'sync', 'failed', 'no ann@planted.example', now())`,
    );
    customers.splice(0, 1);
    await sluice('sync customers --full --accept-deletes 1', RULES);
    await sluice('sync customers --full --accept-deletes 1', RULES);
    const warned = await sluice('forget customers 1 --dry-run', RULES);
    expect(warned.stderr).toMatch(
      /Other records with the same (email and phone|phone and email) were not searched for/,
    );
    const { code } = await sluice('forget customers 1 --text ann@planted.example', RULES);
    expect([code, await placesOf('ann@planted')]).toEqual([0, []]);
  });
});

test('records whose values are not stored cannot be pushed', async () => {
  await withPeople(async ({ database, sluice }) => {
    const file = join(mkdtempSync(join(tmpdir(), 'sluice-push-')), 'new.csv');
    onTestFinished(() => rmSync(dirname(file), { recursive: true }));
    writeFileSync(file, 'account,phone\nZoe,planted-8\n');
    const refused = await sluice(`push customers ${file}`, RULES);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('customers cannot be pushed')]);
    expect(await ask(database, 'select from sluice.push_items')).toEqual([]);
  });
});

test('fields tells what is masked, and gives no column to what is never stored', async () => {
  await withPeople(async ({ sluice }) => {
    await sluice('migrate', RULES);
    const { stdout } = await sluice('fields customers', RULES);
    expect(stdout).toContain('Never stored: phone, iban.\nStored as hashes: email.');
    const refused = await sluice('fields add customers iban text', RULES);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('SOURCE_NEVER names iban')]);
  });
});
