import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { openEmbedded, stopEmbedded } from '../../src/embedded-postgres/embedded-server.ts';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/warehouse/database/database.ts';
import { migrate } from '../../src/warehouse/database/migrate.ts';
import { forgetOldWork, RETENTION } from '../../src/warehouse/ledgers/retention.ts';
import { ask } from '../support/ask.ts';
import { MIGRATIONS } from '../support/database.ts';
import { adminOf, asAdmin, makeServerFolder } from '../support/postgres.ts';
import { openEngine, serveOrders } from '../support/source.ts';

const log = createLog({ level: 'silent' });

test('a publication of all tables carries true changes only, and hinders nothing', async () => {
  const dataDir = await makeServerFolder();
  const { url } = await openEmbedded({ dataDir, log, settings: { wal_level: 'logical', fsync: 'off' } });
  const database = await openDatabase({ url, applicationName: 'test', log, max: 3 });
  const sandbox = await openSandbox({ size: { customers: 20, invoices: 60, transactions: 40 }, rateLimit: 0 });
  try {
    await migrate({ database, ...MIGRATIONS });
    const admin = await adminOf(url, dataDir);
    await asAdmin(admin, 'create publication changes for tables in schema warehouse');
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    const sync = async () => {
      const orders = await serveOrders(engine, 'sync', { whole: true });
      expect(orders.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    };
    await sync();
    await asAdmin(admin, `select pg_create_logical_replication_slot('reader', 'test_decoding')`);
    /** What a reader is sent of the tables, as `invoices UPDATE`. */
    const sent = async () => {
      const rows = await ask(
        admin,
        `select substring(data from '^table warehouse\\.(\\w+: [A-Z]+)') as what
          from pg_logical_slot_get_changes('reader', null, null, 'skip-empty-xacts', '1') where data like 'table warehouse.%' order by data collate "C"`,
      );
      return rows.map(({ what }) => what);
    };

    // The first readings after a load learn about the source.
    await sync();
    await sent();
    await sync();
    expect(await sent()).toEqual([]);

    const [invoice] = [...sandbox.rows('invoices')];
    const [transaction] = [...sandbox.rows('transactions')];
    sandbox.update('invoices', invoice?.id ?? 0, { status: 'Void' } as never);
    sandbox.remove('transactions', transaction?.id ?? 0);
    await sync();
    await sync();
    expect(await sent()).toEqual([
      'change_log: INSERT',
      'change_log: INSERT',
      'invoices: UPDATE',
      'row_history: INSERT',
      'row_history: INSERT',
      'transactions: DELETE',
    ]);

    sandbox.restore('transactions', transaction?.id ?? 0);
    await sync();
    expect(await sent()).toEqual(['change_log: INSERT', 'row_history: UPDATE', 'transactions: INSERT']);

    await database.query(`update warehouse.row_history set valid_to = now() - interval '40 days'`);
    await database.query(`update warehouse.change_log set seen_at = now() - interval '40 days'`);
    await sent();
    await forgetOldWork(database.kysely, 'main', RETENTION, [
      { schema: 'warehouse', name: 'invoices', history: false },
      { schema: 'warehouse', name: 'transactions', history: false },
    ]);
    expect(new Set(await sent())).toEqual(new Set(['change_log: DELETE', 'row_history: DELETE']));
    await engine.close();
  } finally {
    await sandbox.close();
    await database.close();
    await stopEmbedded(dataDir);
    await rm(dataDir, { recursive: true, force: true });
  }
});
