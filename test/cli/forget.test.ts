import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { acquireSourceLock } from '../../src/warehouse/database/source-lock.ts';
import { findText } from '../support/find-text.ts';
import { some } from '../support/long.ts';
import { type Installation, run, useBuild, withInstallation } from './run-command.ts';

useBuild();

const PERSON = {
  account: 'Ann Erasable',
  email: 'ann.erasable@example.com',
  phone: '+43 699 7654321',
  address: 'Erasable Lane 7',
};
/** What no table may hold of her afterwards. */
const TRACES = ['erasable', '7654321'];

const send = (sandbox: Sandbox, method: string, path: string, body?: object) =>
  fetch(`${sandbox.url}/api/v2/${path}`, {
    method,
    headers: { authorization: `Bearer ${sandbox.apiKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });

/** Rows are deleted here as soon as a reading lacks them. */
const commands =
  ({ env }: Installation, cwd?: string) =>
  (...args: string[]) =>
    run(args, { env: { ...env, SOURCE_LAG_SECONDS: '0' }, ...(cwd && { cwd }) });

const SIZE = { customers: 30, invoices: 40, transactions: 10 };

const traces = async (database: Database) => (await Promise.all(TRACES.map(text => findText(database, text)))).flat();

/** Whether the planner keeps one of them as an example. */
const shownByPlanner = async (database: Database) =>
  (await database.query('select from pg_stats s where lower(s::text) like any ($1)', [TRACES.map(text => `%${text}%`)]))
    .rows.length > 0;

/** Leaves traces of the customer where failures, webhooks and interrupted readings leave them. */
async function leaveTraces(database: Database, key: string): Promise<void> {
  const { email, account, address } = PERSON;
  const told = `customers.address was replaced in 30 of 30 rows. Examples: "${address}" became "hidden".`;
  await database.query(`
    insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen) values
      ('main', 'customers', '?wrapped', '[{"id": ${key}, "account": "${account}"}]', '{}', 'whole', now(), now()),
      ('main', 'customers', '?text', '{"id": "x", "note": "write to ${email.toUpperCase()}"}', '{}', 'whole', now(), now()),
      ('main', 'customers', '?other', '{"id": "${key}0", "note": "somebody else"}', '{}', 'whole', now(), now())`);
  await database.query(
    `insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen, resolved_at)
     values ('main', 'customers', $1, $2, '{}', 'whole', now(), now(), now())`,
    [key, JSON.stringify({ id: key, ...PERSON })],
  );
  await database.query(`
    insert into sluice.runs (source, resource, kind, state, reason, started_at, ended_at)
      values ('main', 'customers', 'sync', 'failed', 'The source refuses: ${email} is taken.', now(), now());
    insert into sluice.incidents (source, resource, kind, message, opened_at)
      values ('main', 'customers', 'failed', '${account} is not valid', now());
    insert into sluice.runs (source, resource, kind, state, failure, reason, started_at, ended_at)
      values ('main', 'customers', 'sync', 'failed', 'rewrite', '${told}', now(), now());
    insert into sluice.incidents (source, resource, kind, message, opened_at)
      values ('main', 'customers', 'rewrite', '${told}', now());
    insert into sluice.rewrites (source, resource, field, run_ids, since, at, rows, stored, examples)
      values ('main', 'customers', 'address', '{}', now(), now(), 30, 30, '[{"key":"${key}","before":"${address}","after":"hidden"}]');
    insert into sluice.traits values ('main', 'customers', 'address test', 'x', 'asked for row ${key}, got Erasable', now());
    insert into sluice.traits values ('main', 'tags', 'drift', '{"learningSince":null,"unknown":{"${email}":null},"vanished":{}}', '', now());
    insert into sluice.hints values ('main', 'customers', 'one ${key}', now());
    insert into sluice.missing (source, resource, key, slice, since) values ('main', 'customers', '${key}', 'whole', now())
      on conflict do nothing;
    insert into sluice.seen_keys values ('main', 'customers', 'whole', 0, '{"ids":"${key}"}');
    insert into sluice.row_windows values ('main', 'customers', '${key}', '2025-01-01', '2025-01-02', now());
    update sluice.cursors set readings = '{"whole": {"seen": 1}}' where resource = 'customers';
    insert into sluice.orders (source, resource, kind, state, report, created_at, ended_at)
      values ('main', 'customers', 'verify', 'done', '{"extra": ["${key}"]}', now(), now());
    insert into sluice.orders (source, resource, kind, state, targets, created_at, ended_at) values
      ('main', 'customers', 'refresh', 'done', '{one ${key},id ${key}..${key},one ${key}0}', now(), now()),
      ('main', 'customers', 'refresh', 'paused', '{one ${key}}', now(), null);
    insert into sluice.requests (key, source, granted_at, counts_until, settled_at, lane, purpose)
      values ('k', 'main', now(), now(), now(), 'live', 'customers id ${key}..${key}')`);
}

// It waits fifteen seconds for the other process, and so goes beside the others.
test.concurrent('while another process reads the source, nothing is erased', async () => {
  await withInstallation({ size: SIZE }, async installation => {
    const { sandbox, database, sync } = installation;
    await sync('customers');
    sandbox.remove('customers', 1);
    const lock = await acquireSourceLock(database, 'main');
    const held = await commands(installation)('forget', 'customers', '1');
    expect([held.code, held.stderr]).toEqual([
      1,
      'Another process is reading the source, so nothing was erased.\nStop that process or wait until it has finished, then run this command again.\n',
    ]);
    await lock?.release();
    expect((await database.query('select from warehouse.customers where id = 1')).rows).toHaveLength(1);
  });
});

test.concurrent('a receiver is sent the deletion before the key is erased from it', async () => {
  await withInstallation({ size: SIZE }, async installation => {
    const { sandbox, database, sync } = installation;
    await sync('customers');
    await database.query(`insert into sluice.deliveries (source, name, next) values ('main', 'crm', 1)`);
    sandbox.remove('customers', 7);
    const behind = await commands(installation)('forget', 'customers', '7');
    expect([behind.code, behind.stderr]).toEqual([
      1,
      'crm has not been sent yet that customers 7 is deleted. Its versions and all else were not erased.\nRun this command again once "sluice notify list" shows no change before it. A receiver that is no longer used: sluice notify remove <name>.\n',
    ]);
    const changes = async () =>
      (
        await database.query(
          `select key, kind, before->>'id' as id from warehouse.changes where resource = 'customers'`,
        )
      ).rows;
    expect(await changes()).toEqual([{ key: '7', kind: 'deleted', id: '7' }]);
    await database.query('update sluice.deliveries set next = 2');
    expect((await commands(installation)('forget', 'customers', '7')).code).toBe(0);
    expect(await changes()).toEqual([{ key: null, kind: 'deleted', id: null }]);
  });
});

test.concurrent('forget erases a person from every table of every schema, and leaves a receipt without personal data', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-forget-'));
  writeFileSync(join(cwd, 'new.ndjson'), `${JSON.stringify(PERSON)}\n`);
  writeFileSync(
    join(cwd, 'leads.ndjson'),
    ['ann.erasable', 'other']
      .map(name => `{"first_name":"A","last_name":"${name}","email":"${name}@example.com"}\n`)
      .join(''),
  );
  await withInstallation({ size: SIZE }, async installation => {
    const { sandbox, database, sync } = installation;
    const sluice = commands(installation, cwd);
    expect((await sluice('push', 'customers', 'new.ndjson', '--yes')).code).toBe(0);
    expect((await sluice('push', 'leads', 'leads.ndjson', '--yes')).code).toBe(0);
    const { rows } = await database.query<{ key: string }>(
      `select row_key as key from sluice.push_items where resource = 'customers'`,
    );
    const key = rows[0]?.key ?? '';
    await send(sandbox, 'POST', 'invoices', {
      customer_id: Number(key),
      date: '2026-01-01',
      due_date: '2026-02-01',
      items: [{ description: 'x', amount: 1, qty: 1 }],
    });
    await sync('customers', 'invoices');

    const before = await traces(database);
    const early = await sluice('forget', 'customers', key);
    expect([early.code, early.stderr]).toEqual([
      1,
      `The source still shows customers ${key}, so nothing was erased.\nDelete the record at the source, then run this command again.\n`,
    ]);
    expect(await traces(database)).toEqual(before);

    expect((await send(sandbox, 'DELETE', `customers/${key}`)).status).toBe(200);
    await sync('customers');
    await leaveTraces(database, key);
    await database.query('analyze');
    expect(await shownByPlanner(database)).toBe(true);
    const full = await traces(database);
    expect(full).toEqual(
      expect.arrayContaining([
        'warehouse.row_history: 1',
        'sluice.push_items: 2',
        'sluice.runs: 2',
        'sluice.rewrites: 1',
        'sluice.traits: 2',
      ]),
    );
    const dry = (await sluice('forget', 'customers', key, '--dry-run', '--json')).json();
    expect(dry).toMatchObject({ dryRun: true, receipt: null, counts: { 'warehouse.row_history': 1 } });
    expect(await traces(database)).toEqual(full);

    const done = (await sluice('forget', 'customers', key, '--json')).json();
    expect(done).toMatchObject({ dryRun: false, counts: dry.counts, erasedBefore: null, mentions: [] });
    expect(done.refersTo).toEqual([{ resource: 'invoices', rows: 1, keys: [expect.any(String)] }]);
    expect(await traces(database)).toEqual([]);
    expect(await shownByPlanner(database)).toBe(false);
    const { rows: left } = await database.query(`select (select count(*)::int from sluice.quarantine) as quarantine,
      (select count(*)::int from sluice.push_items where row_key is not null or source_id = '${key}') as lines,
      (select count(*)::int from sluice.push_items where body <> '{}') as others,
      (select readings from sluice.cursors where resource = 'customers') as readings,
      (select count(*)::int from sluice.answers where resource = 'customers') as answers,
      (select count(*)::int from sluice.orders where report::text like '%"${key}"%') as reports,
      (select count(*)::int from sluice.requests where purpose ~ '[ .]${key}$') as requests,
      (select jsonb_agg(jsonb_build_array(state, targets) order by id) from sluice.orders where kind = 'refresh') as refreshes,
      (select to_jsonb(e) - 'erased_at' - 'id' from sluice.erasures e) as receipt`);
    expect(left).toEqual([
      {
        ...{ quarantine: 1, lines: 0, others: 1, readings: {}, answers: 0, reports: 0, requests: 0 },
        refreshes: [
          ['done', [`one ${key}0`]],
          ['cancelled', []],
        ],
        receipt: {
          ...{ source: 'main', resource: 'customers', key_hash: done.receipt.keyHash, counts: done.counts },
          erased_by: done.receipt.erasedBy,
        },
      },
    ]);

    const again = await sluice('forget', 'customers', key);
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringContaining(`Nothing is stored of customers ${key} any more. It was erased at 20`),
    ]);
    expect((await sluice('push', 'customers', 'new.ndjson', '--yes', '--json')).json()).toMatchObject({ requests: 0 });
    await sync('customers');
    expect(await traces(database)).toEqual([]);
  });
  rmSync(cwd, { recursive: true });
});

test.concurrent('a record without an address is erased with its child rows, once its list no longer shows it', async () => {
  await withInstallation({ size: SIZE }, async installation => {
    const { sandbox, database, sync } = installation;
    const sluice = commands(installation);
    await sync('invoices');
    const { rows } = await database.query<{ id: string }>('select id from warehouse.invoices order by id limit 1');
    const key = rows[0]?.id ?? '';
    const early = await sluice('forget', 'invoices', key);
    expect([early.code, early.stderr]).toEqual([
      1,
      `The last reading of invoices still showed ${key}, so nothing was erased.\nDelete the record at the source, run "sluice sync invoices --full", then run this command again.\n`,
    ]);
    sandbox.remove('invoices', Number(key));
    expect((await sluice('forget', 'invoices', key)).code).toBe(1);
    await sync('invoices');
    const done = await sluice('forget', 'invoices', key);
    expect([done.code, done.stdout]).toEqual([
      0,
      expect.stringContaining('Not erased are copies outside of this database'),
    ]);
    const { rows: left } = await database.query(
      `select (select count(*)::int from warehouse.row_history where key = $1) as history,
        (select count(*)::int from warehouse.invoice_items where invoice_id::text = $1) as items`,
      [key],
    );
    expect(left).toEqual([{ history: 0, items: 0 }]);
  });
});

test.concurrent.each(some(['null', 'not-found', '400', 'marked'] as const, 1))(
  'a customer whose address answers %s once it is deleted can be erased',
  async variant => {
    await withInstallation({ size: SIZE, variants: { 'deleted-customer': variant } }, async installation => {
      const { sandbox, database, sync } = installation;
      const sluice = commands(installation);
      await sync('customers');
      sandbox.remove('customers', 5);
      await sync('customers');
      expect((await sluice('forget', 'customers', '05')).code).toBe(0);
      const { rows } = await database.query(`select key from warehouse.row_history where key = '5'`);
      expect(rows).toEqual([]);
    });
  },
);

test.concurrent('a customer that the list shows is not erased because of an address that is known to deny every customer', async () => {
  await withInstallation({ size: SIZE, variants: { 'customer-address': '404' } }, async installation => {
    const { sandbox, database, sync } = installation;
    const sluice = commands(installation);
    await sync('customers');
    sandbox.remove('customers', 5);
    await sync('customers');
    const { code, stderr } = await sluice('forget', 'customers', '7');
    expect([code, stderr.split('\n')[0]]).toEqual([
      1,
      'The last reading of customers still showed 7, so nothing was erased.',
    ]);
    expect((await database.query('select from warehouse.customers where id = 7')).rows).toHaveLength(1);
  });
});

test.concurrent('an unknown key or resource is reported, and nothing is written', async () => {
  await withInstallation({ size: SIZE }, async ({ database, sluice }) => {
    const told = async (...args: string[]) => {
      const { code, stderr } = await sluice('forget', ...args);
      return [code, stderr.split('\n')[0]];
    };
    expect(await told('customers', '999')).toEqual([2, 'Nothing is stored of customers 999.']);
    expect(await told('customers', 'Ann')).toEqual([2, '"Ann" is not a key of customers.']);
    expect(await told('people', '1')).toEqual([2, 'Unknown resource "people".']);
    expect((await database.query('select from sluice.erasures')).rows).toEqual([]);
  });
});
