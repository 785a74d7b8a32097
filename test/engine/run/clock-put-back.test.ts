import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { DAY, HOUR, SECOND } from '../../../src/clock.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { isKind } from '../../../src/errors.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { createOrder } from '../../../src/warehouse/ledgers/orders.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

/** From now on the clock of the database is ahead by `ms`. */
const setAhead = (database: Database, ms: number) =>
  database.query(`create or replace function sluice.now() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + interval ''${ms} milliseconds'''`);

const times = [
  'select max(_read_at) as at from warehouse.customers',
  'select max(_synced_at) as at from warehouse.transactions',
  'select max(greatest(proven_at, read_at)) as at from sluice.coverage',
  'select max(committed_at) as at from sluice.cursors',
  'select max(valid_to) as at from warehouse.row_history',
  'select max(greatest(since, lacked_at)) as at from sluice.missing',
];

test('rows read while the clock was ahead follow the source as soon as it is put back', async () => {
  await withDatabase(async database => {
    const size = { customers: 30, invoices: 60, transactions: 90 };
    const sandbox = await openSandbox({ size, rateLimit: 0 });
    await setAhead(database, 3 * HOUR);
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    await serveOrders(engine, 'sync');
    sandbox.remove('customers', 7);
    await serveOrders(engine, 'sync');
    // Nothing confirms this one: another list shows no such row.
    await database.query(`insert into sluice.missing (source, resource, key, slice, since, half)
      values ('main', 'suppliers', '1', 'whole', sluice.now(), true)`);
    await setAhead(database, 0);
    sandbox.changeRandom(60);
    for (const order of await serveOrders(engine, 'sync')) expect(order.reason ?? order.state).toBe('done');
    expect(await differences(database, sandbox)).toEqual([]);
    for (const query of times) {
      const { rows } = await database.query<{ at: Date }>(`select at > sluice.now() as at from (${query}) t`);
      expect(rows, query).toEqual([{ at: false }]);
    }
    await engine.close();
    await sandbox.close();
  });
});

/** An engine that reads customers; at its first commit, the clock is put back to what it is. */
async function openUntilPutBack(database: Database, sandbox: Sandbox) {
  const steps: Promise<unknown>[] = [];
  const engine = await openEngine(database, sandbox, {
    limit: 100_000,
    resources: ['customers'],
    pageSize: 10,
    concurrency: 1,
    onEvent(event) {
      if (event.kind === 'committed' && steps.length === 0) steps.push(setAhead(database, 0));
    },
  });
  return { engine, steps };
}

test('a loop that is stopped while the clock is put back ends as stopped, and its order stays open', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 60, invoices: 10, transactions: 10 }, rateLimit: 0 });
    await setAhead(database, 3 * HOUR);
    const stop = new AbortController();
    const watched: Database = {
      ...database,
      transaction: (work, options) =>
        database.transaction(work, options).catch((error: unknown) => {
          if (isKind(error, 'stale')) stop.abort();
          throw error;
        }),
    };
    const { engine, steps } = await openUntilPutBack(watched, sandbox);
    const ended = await serveOrders(engine, 'sync', {}, stop.signal).catch((error: unknown) => error);
    await Promise.all(steps);
    expect(ended).toMatchObject({ kind: 'stopped' });
    const { rows } = await database.query('select state from sluice.orders');
    expect(rows).toEqual([{ state: 'waiting' }]);
    await engine.close();
    await sandbox.close();
  });
});

test('a reading during which the clock is put back begins again, and nothing stays dated ahead', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 60, invoices: 10, transactions: 10 }, rateLimit: 0 });
    await setAhead(database, 3 * HOUR);
    const { engine, steps } = await openUntilPutBack(database, sandbox);
    const [order] = await serveOrders(engine, 'sync');
    await Promise.all(steps);
    expect(order?.state).toBe('done');
    expect(await differences(database, sandbox, 5, ['customers'])).toEqual([]);
    for (const query of times) {
      const { rows } = await database.query<{ at: Date }>(`select at > sluice.now() as at from (${query}) t`);
      expect(rows[0]?.at ?? false, query).toBe(false);
    }
    await engine.close();
    await sandbox.close();
  });
});

test.each([20 * SECOND, 3 * HOUR, 3 * DAY])(
  'a repair that begins after the clock was put back by %i ms, while the loop runs, leaves warehouse and source equal',
  async ms => {
    await withDatabase(async database => {
      const sandbox = await openSandbox({ size: { customers: 30, invoices: 10, transactions: 10 }, rateLimit: 0 });
      await setAhead(database, ms);
      const steps: Promise<unknown>[] = [];
      const engine = await openEngine(database, sandbox, {
        limit: 100_000,
        resources: ['customers'],
        onEvent(event) {
          if (event.kind !== 'ended' || steps.length > 0) return;
          sandbox.update('customers', 7, { phone: '555' });
          steps.push(setAhead(database, 0).then(() => createOrder(database.kysely, repair)));
        },
      });
      const repair = { source: 'main', resource: 'customers', kind: 'verify', repair: true } as const;
      // Keeps the loop running until the repair is there.
      const backfill = { source: 'main', resource: 'customers', kind: 'backfill' } as const;
      await createOrder(database.kysely, { ...repair, kind: 'sync' });
      await createOrder(database.kysely, backfill);
      await runLoop(engine, { orders: () => true, slots: false }, new AbortController().signal);
      await Promise.all(steps);
      await runLoop(engine, { orders: () => true, slots: false }, new AbortController().signal);
      const { rows } = await database.query('select kind, state from sluice.orders order by id');
      expect(rows).toEqual(['sync', 'backfill', 'verify'].map(kind => ({ kind, state: 'done' })));
      expect(await differences(database, sandbox, 5, ['customers'])).toEqual([]);
      await engine.close();
      await sandbox.close();
    });
  },
);

test('a reading begun while the clock was ahead starts again', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 30, invoices: 10, transactions: 10 }, rateLimit: 0 });
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['customers'] });
    await serveOrders(engine, 'sync');
    await database.query(`update sluice.cursors set committed_at = sluice.now() + interval '1 hour', readings = jsonb_build_object(
      'whole', jsonb_build_object('page', 2, 'seen', 1, 'startedAt', sluice.now() + interval '1 hour'),
      'newest', jsonb_build_object('page', 2, 'startedAt', sluice.now() - interval '1 minute'))`);
    await database.query(
      `insert into sluice.seen_keys (source, resource, slice, at, keys) values ('main', 'customers', 'whole', 0, '{"ids":"1"}')`,
    );
    await serveOrders(engine, 'sync');
    const { rows } = await database.query(
      `select readings ? 'whole' as whole, (select count(*)::int from sluice.seen_keys) as keys from sluice.cursors`,
    );
    expect(rows).toEqual([{ whole: false, keys: 0 }]);
    await engine.close();
    await sandbox.close();
  });
});

test('while the clock is weeks ahead, nothing is deleted for its age', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 5, invoices: 5, transactions: 5 }, rateLimit: 0 });
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['customers'] });
    await serveOrders(engine, 'sync');
    sandbox.update('customers', 3, { city: 'Elsewhere' });
    await serveOrders(engine, 'sync');
    const versions = async () => (await database.query('select from warehouse.row_history')).rows.length;
    expect(await versions()).toBe(1);
    await setAhead(database, 60 * DAY);
    await serveOrders(engine, 'sync');
    expect(await versions()).toBe(1);
    await setAhead(database, 0);
    await engine.close();
    await sandbox.close();
  });
});
