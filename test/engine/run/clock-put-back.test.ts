import { expect, test } from 'vitest';
import { HOUR } from '../../../src/clock.ts';
import { openSandbox } from '../../../src/sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
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
];

test('rows read while the clock was ahead follow the source as soon as it is put back', async () => {
  await withDatabase(async database => {
    const size = { customers: 30, invoices: 60, transactions: 90 };
    const sandbox = await openSandbox({ size, rateLimit: 0 });
    await setAhead(database, 3 * HOUR);
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    await serveOrders(engine, 'sync');
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

test('a reading begun while the clock was ahead starts again', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 30, invoices: 10, transactions: 10 }, rateLimit: 0 });
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['customers'] });
    await serveOrders(engine, 'sync');
    await database.query(`update sluice.cursors set committed_at = sluice.now() + interval '1 hour', readings = jsonb_build_object(
      'whole', jsonb_build_object('page', 2, 'seen', 1, 'startedAt', sluice.now() + interval '1 hour'),
      'newest', jsonb_build_object('page', 2, 'startedAt', sluice.now() - interval '1 minute'))`);
    await database.query(`insert into sluice.whole_keys (source, resource, key) values ('main', 'customers', '1')`);
    await serveOrders(engine, 'sync');
    const { rows } = await database.query(
      `select readings ? 'whole' as whole, (select count(*)::int from sluice.whole_keys) as keys from sluice.cursors`,
    );
    expect(rows).toEqual([{ whole: false, keys: 0 }]);
    await engine.close();
    await sandbox.close();
  });
});
