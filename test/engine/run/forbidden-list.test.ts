import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('a list that the key may not read fails alone, in a sync and at a tick that all lists share', async () => {
  const sandbox = await openSandbox({
    size: { customers: 30, invoices: 30, transactions: 30 },
    rateLimit: 0,
    variants: { forbidden: 'transactions' },
  });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    const orders = await serveOrders(engine, 'sync');
    expect(orders.map(({ resource, state }) => [resource, state])).toEqual([
      ['customers', 'done'],
      ['invoices', 'done'],
      ['transactions', 'failed'],
    ]);
    expect(orders[2]?.reason).toMatch(/You do not have permission to view transactions.*SOURCE_API_KEY/);

    sandbox.changeRandom(20);
    for (const { name } of engine.resources) await recordSlot(database.kysely, 'main', name, new Date());
    await runLoop(engine, { orders: () => false, slots: true }, new AbortController().signal);
    const { rows } = await database.query(
      `select resource, state, failure from sluice.runs where kind = 'slot' order by resource`,
    );
    expect(rows).toEqual([
      { resource: 'customers', state: 'done', failure: null },
      { resource: 'invoices', state: 'done', failure: null },
      { resource: 'transactions', state: 'failed', failure: 'refused' },
    ]);

    sandbox.setVariants({ forbidden: 'none' });
    expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('a refusal that names the key, because it lacks a permission, concerns that list alone', async () => {
  const sandbox = await openSandbox({
    size: { customers: 30, invoices: 30, transactions: 30 },
    rateLimit: 0,
    variants: { forbidden: 'users' },
  });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, {
      limit: 100_000,
      resources: ['users', 'customers', 'invoices'],
    });
    const orders = await serveOrders(engine, 'sync');
    expect(Object.fromEntries(orders.map(({ resource, state }) => [resource, state]))).toEqual({
      customers: 'done',
      invoices: 'done',
      users: 'failed',
    });
    expect(orders.find(({ resource }) => resource === 'users')?.reason).toMatch(
      /Your API key does not have the required permission/,
    );
    await engine.close();
  });
  await sandbox.close();
});
