import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const SIZE = { customers: 40, invoices: 60, transactions: 40 };

test('a field that other rows of the list carry is emptied where a row omits it', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: { none: 'absent' } });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    await serveOrders(engine, 'sync');
    const phoneOf = async () =>
      (await database.query<{ phone: string | null }>('select phone from warehouse.customers where id = 7')).rows[0]
        ?.phone;
    await put({ phone: '+43 1 23456' });
    await serveOrders(engine, 'sync');
    expect(await phoneOf()).toBe('+43 1 23456');
    await put({ phone: null });
    await serveOrders(engine, 'sync');
    expect(await phoneOf()).toBe(null);
    sandbox.changeRandom(60);
    await serveOrders(engine, 'sync');
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();

  async function put(fields: object): Promise<void> {
    const answer = await fetch(`${sandbox.url}/api/v2/customers/7`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${sandbox.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    expect(answer.status).toBe(200);
  }
});

test('a field that no row of the list carries stays as stored', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    await serveOrders(engine, 'sync');
    const dates = async () =>
      (await database.query<{ n: number }>('select count(date)::int as n from warehouse.invoices')).rows[0]?.n;
    const before = await dates();
    expect(before).toBeGreaterThan(50);
    await engine.close();
    // As if another endpoint had brought them: nothing was ever seen of the list.
    await database.query('delete from sluice.traits');
    sandbox.setVariants({ 'invoice-fields': 'bare' });
    const anew = await openEngine(database, sandbox, { limit: 100_000 });
    await serveOrders(anew, 'sync');
    expect(await dates()).toBe(before);
    await anew.close();
  });
  await sandbox.close();
});
