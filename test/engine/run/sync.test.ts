import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const TABLES = ['customers', 'invoices', 'invoice_items', 'transactions', 'row_history'];

/** Marks that change whenever any row of the warehouse is written, even with the same content. */
async function writes(database: Database): Promise<string[]> {
  const marks: string[] = [];
  for (const table of TABLES) {
    const { rows } = await database.query<{ mark: string }>(
      `select count(*) || ' ' || coalesce(sum(hashtextextended(ctid::text || xmin::text, 0)), 0) as mark from warehouse.${table}`,
    );
    marks.push(`${table} ${rows[0]?.mark}`);
  }
  return marks;
}

test('after a sync all fields are equal, a second sync writes no row, and one sync applies 200 changes', async () => {
  // 45 pages of 100 rows.
  const sandbox = await openSandbox({ size: { customers: 150, invoices: 1500, transactions: 2800 }, rateLimit: 0 });
  await withDatabase(async database => {
    // The real limit; the requests of the previous sync are forgotten, so that the test does not wait for an hour.
    const engine = await openEngine(database, sandbox, { limit: 1000 });
    const sync = async () => {
      await database.query('delete from sluice.requests');
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(order => order.reason ?? order.state)).toEqual(['done', 'done', 'done']);
      return orders.reduce((sum, order) => sum + order.requests, 0);
    };
    await sync();
    expect(await differences(database, sandbox)).toEqual([]);

    const before = await writes(database);
    expect(await sync()).toBeLessThan(62);
    expect(await writes(database)).toEqual(before);

    sandbox.changeRandom(200);
    await sync();
    expect(await differences(database, sandbox)).toEqual([]);
    expect(await writes(database)).not.toEqual(before);
    await engine.close();
  });
  await sandbox.close();
}, 180_000);
