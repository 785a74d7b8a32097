import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import { driftedFields } from '../../../src/service/status/field-drift.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { readTraits } from '../../../src/warehouse/ledgers/traits.ts';
import { withMonitor } from '../../service/incidents/with-monitor.ts';
import { withDatabase } from '../../support/database.ts';
import { JOBS } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { type OwnLists, openOwnSource } from '../records/own-source.ts';

const notices = async (database: Database) =>
  (
    await database.query<{ message: string }>("select message from sluice.incidents where kind = 'drift' order by id")
  ).rows.map(({ message }) => message);

const shown = async (database: Database) =>
  driftedFields(await readTraits(database.kysely, 'main'), new Map(Object.entries(JOBS)), Date.now()).map(
    ({ resource, field, kind }) => `${resource}.${field} ${kind}`,
  );

test('a renamed field is reported once over runs and restarts, by one alert that is no trouble', async () => {
  const sandbox = await openSandbox({ size: { customers: 20, invoices: 60, transactions: 5 }, rateLimit: 0 });
  await withMonitor(async ({ database, clock, alerts, look }) => {
    const options = { clock, limit: 100_000, resources: ['invoices'] } as const;
    const syncTwice = async (engine: Engine) => {
      for (let turn = 0; turn < 2; turn++) {
        await clock.advance(60_000);
        await serveOrders(engine, 'sync', { whole: true });
      }
    };
    const first = await openEngine(database, sandbox, options);
    await syncTwice(first);
    expect(await notices(database)).toEqual([]);
    await first.close();

    sandbox.setBadDay({ kind: 'renamed', resource: 'invoices', field: 'amount' });
    for (let restart = 0; restart < 2; restart++) {
      const engine = await openEngine(database, sandbox, options);
      await syncTwice(engine);
      await engine.close();
      const { rows } = await database.query("select from sluice.incidents where kind = 'drift' and ended_at is null");
      expect(rows).toEqual([]);
      for (let time = 0; time < 2; time++) await look();
    }
    expect(await notices(database)).toEqual([
      'New fields of invoices: amount_v2. Fields that invoices no longer shows: amount.',
    ]);
    const told = alerts.filter(({ text }) => text.startsWith('Notice'));
    expect(told).toMatchObject([
      { text: expect.stringMatching(/^Notice: fields changed \(main, invoices\)\nNew fields/) },
    ]);
    expect(told[0]?.attachments[0]?.fields[0]).toMatchObject({ title: 'state', value: 'notice' });
    expect(alerts.map(({ text }) => text.split('\n')[0])).not.toContainEqual(expect.stringContaining('Resolved'));
  });
  await sandbox.close();
});

test('a vanished field that comes back is no longer shown as vanished', async () => {
  const sandbox = await openSandbox({ size: { customers: 20, invoices: 60, transactions: 5 }, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices'] });
    const sync = () => serveOrders(engine, 'sync', { whole: true });
    await sync();
    sandbox.setBadDay({ kind: 'nulled', resource: 'invoices', field: 'amount' });
    await sync();
    expect(await shown(database)).toEqual([]);
    sandbox.setBadDay({ kind: 'vanished', resource: 'invoices', field: 'amount' });
    await sync();
    expect(await shown(database)).toEqual(['invoices.amount vanished']);
    sandbox.setBadDay(null);
    await sync();
    expect(await shown(database)).toEqual([]);
    sandbox.setBadDay({ kind: 'items-omitted', resource: 'invoices', field: 'items' });
    await sync();
    expect(await shown(database)).toEqual(['invoices.items vanished']);
    expect(await notices(database)).toHaveLength(2);
    await engine.close();
  });
  await sandbox.close();
});

/** Invoices by id, each with a line. */
function invoices(ids: readonly number[], more: object = {}, ofLine: object = {}): OwnLists['invoices'] {
  const row = (id: number) => ({
    ...{ id, customer_id: 1, number: `N-${id}`, date: '2025-03-01', amount: '5.00', status: 'Paid', ...more },
    items: [{ description: 'Line', quantity: '1', price: '5.00', ...ofLine }],
  });
  return new Map(ids.map(id => [id, { text: JSON.stringify(row(id)) }]));
}

test('unknown fields of a first load and of single addresses are no news, those that the list shows later are', async () => {
  const lists: OwnLists = {
    customers: new Map(),
    invoices: invoices([1, 2, 3], { tax: 1 }, { sku: 'A' }),
    transactions: new Map(),
  };
  const source = await openOwnSource(lists);
  await withDatabase(async database => {
    const engine = await openEngine(database, source, { limit: 100_000, resources: ['invoices'] });
    const sync = () => serveOrders(engine, 'sync', { whole: true });
    for (let turn = 0; turn < 2; turn++) await sync();
    expect([await shown(database), await notices(database)]).toEqual([[], []]);
    // Three rows that happen to have no notes, and an API that leaves out what is empty.
    lists.invoices = invoices([1, 2, 3], { tax: 1, notes: 'Paid in cash' }, { sku: 'A' });
    await sync();
    lists.invoices = invoices([1, 2, 3], { tax: 1 }, { sku: 'A' });
    await sync();
    expect([await shown(database), await notices(database)]).toEqual([[], []]);

    lists.invoices = invoices([1, 2, 3], { tax: 1, "it's": 2, password_hash: 'secret-1' }, { sku: 'A', discount: '1' });
    for (let turn = 0; turn < 2; turn++) await sync();
    expect(await shown(database)).toEqual(["invoices.it's new", 'invoices.items.discount new']);
    expect(await notices(database)).toEqual(["New fields of invoices: it's, items.discount."]);
    const { rows } = await database.query<{ next: string }>('select next from sluice.incidents');
    const [, query = ''] = /Kept in _extra: (.*)\. To give/.exec(rows[0]?.next ?? '') ?? [];
    const kept = await database.query<{ value: string }>(`set search_path = warehouse; ${query}`);
    expect([kept].flat().at(-1)?.rows.length).toBe(3);
    await engine.close();
  });
});
