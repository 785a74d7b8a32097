import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, test } from 'vitest';
import { withReader } from '../../service/with-reader.ts';
import { builtProgram, type Installation, useBuild, withInstallation } from '../run-command.ts';

useBuild();

interface Answer {
  readonly isError: boolean;
  readonly text: string;
  readonly value: () => unknown;
}

type Call = (name: string, args?: Record<string, unknown>) => Promise<Answer>;

/** An agent's client, connected to `sluice mcp` over its standard input and output. Queries run as a login that may only read. */
const withAgent = (
  { env, database, test }: Installation,
  flags: readonly string[],
  fn: (call: Call, client: Client) => Promise<void>,
): Promise<void> =>
  withReader(database, test, (_reader, address) => connect({ ...env, READER_DATABASE_URL: address }, flags, fn));

async function connect(
  env: Readonly<Record<string, string>>,
  flags: readonly string[],
  fn: (call: Call, client: Client) => Promise<void>,
): Promise<void> {
  const { PATH = '', HOME = '' } = process.env;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [builtProgram(), 'mcp', ...flags],
    env: { PATH, HOME, ...env },
    stderr: 'ignore',
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  try {
    await fn(async (name, args = {}) => {
      const { content, isError } = await client.callTool({ name, arguments: args });
      const text = (content as { text: string }[])[0]?.text ?? '';
      return { isError: isError === true, text, value: () => JSON.parse(text) as unknown };
    }, client);
  } finally {
    await client.close();
  }
}

test('an agent finds the tables, queries them, and learns how fresh and complete the answer is', async () => {
  await withInstallation({}, async installation => {
    const { sync, database } = installation;
    await sync('customers', 'invoices');
    await withAgent(installation, [], async (call, client) => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
        ['query', true],
        ['changes', true],
        ['describe_tables', true],
        ['freshness', true],
        ['why_record', true],
        ['backfill_cost', true],
      ]);
      const tables = (await call('describe_tables')).value() as {
        name: string;
        comment: string;
        columns: Record<string, unknown>;
      }[];
      expect(tables.find(({ name }) => name === 'warehouse.open_invoices')).toMatchObject({
        kind: 'view',
        comment: expect.stringContaining('Unpaid') as string,
        columns: { amount: { type: 'numeric' } },
      });
      expect(tables.map(({ name }) => name)).not.toContain('sluice.receivers');
      const { rows } = await database.query(
        'select count(*)::text as invoices, sum(amount)::text as sum from warehouse.invoices',
      );
      expect(
        (await call('query', { sql: 'select count(*) as invoices, sum(amount) as sum from invoices' })).value(),
      ).toEqual({
        columns: ['invoices', 'sum'],
        rows: rows.map(row => Object.values(row)),
        cut: false,
        as_of: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        unsettled: 0,
        quarantined: 0,
        held: 0,
        requests: 0,
      });
      expect((await call('query', { sql: 'select * from invoices', rows: 3 })).value()).toMatchObject({ cut: true });
      expect((await call('freshness')).value()).toMatchObject({
        lists: [
          { resource: 'customers', complete: true, missing: 0, quarantined: 0, held: 0 },
          { resource: 'invoices', complete: true, missing: 0, quarantined: 0, held: 0 },
        ],
        drift: [],
      });
      const [id] = (await database.query<{ id: string }>('select min(id)::text as id from warehouse.invoices')).rows;
      expect((await call('why_record', { resource: 'invoices', key: id?.id })).value()).toMatchObject({
        state: 'stored',
        verdict: expect.stringContaining('equals the source') as string,
      });
      expect((await call('backfill_cost', { resource: 'invoices', from: '2025-01-01' })).value()).toMatchObject({
        resource: 'invoices',
        from: '2025-01-01',
        neverRead: 0,
      });
    });
  });
}, 60_000);

test('an agent can change nothing: no write, no secret, no order, and errors say what to do', async () => {
  await withInstallation({}, async installation => {
    const { sync, database, env } = installation;
    await sync('customers');
    await database.query(
      `insert into sluice.receivers (source, secret, made_at) values ('main', 'a-secret-address', now())`,
    );
    await withAgent(installation, [], async call => {
      for (const sql of [
        'delete from customers',
        'with gone as (delete from customers returning 1) select * from gone',
        'select 1; drop table customers',
        'create table customers_2 (id int)',
        'select * from sluice.orders for update',
      ])
        expect(await call('query', { sql }), sql).toMatchObject({ isError: true });
      const wrong = await call('query', { sql: 'select * from invoice' });
      expect([wrong.isError, wrong.text]).toEqual([true, expect.stringContaining('does not exist')]);
      expect((await call('order_backfill', { resource: 'customers' })).isError).toBe(true);
      expect((await call('why_record', { resource: 'nothing', key: '1' })).isError).toBe(true);
      expect((await call('backfill_cost', { resource: 'customers', from: '2025-13-01' })).text).toContain(
        'from 2025-13-01 is not a valid date',
      );
      const all = JSON.stringify([wrong.text, (await call('freshness')).text, (await call('describe_tables')).text]);
      expect(all).not.toContain(new URL(env.DATABASE_URL ?? '').password);
    });
    expect(
      (await database.query('select count(*)::int as orders from sluice.orders where kind = $1', ['backfill'])).rows,
    ).toEqual([{ orders: 0 }]);
  });
}, 60_000);

test('with --allow-orders, an agent may order a backfill', async () => {
  await withInstallation({}, async installation => {
    const { sync, database } = installation;
    await sync('invoices');
    await withAgent(installation, ['--allow-orders'], async call => {
      expect(
        (await call('order_backfill', { resource: 'invoices', from: '2025-01-01', to: '2025-12-31' })).value(),
      ).toMatchObject({
        state: 'waiting',
        service: false,
      });
    });
    const { rows } = await database.query(
      `select resource, date_from::text as from, state from sluice.orders where kind = 'backfill'`,
    );
    expect(rows).toEqual([{ resource: 'invoices', from: '2025-01-01', state: 'waiting' }]);
  });
}, 60_000);
