import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { newMemory } from '../../../src/engine/run/agenda.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { createOrder, readOrders } from '../../../src/warehouse/ledgers/orders.ts';
import { until } from '../../cli/run-command.ts';
import { withDatabase } from '../../support/database.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('a loop that is told of work begins it at once, whether it keeps its pace or an answer is awaited', async () => {
  const sandbox = await openSandbox({ size: { customers: 20, invoices: 20, transactions: 20 }, rateLimit: 0 });
  await withDatabase(async database => {
    // No second passes: it looks for work only when told.
    const clock = manualClock(Date.now());
    const engine = await openEngine(database, sandbox, { clock, limit: 100_000 });
    await serveOrders(engine, 'sync', { whole: true });
    const over = new AbortController();
    let tell = () => {};
    const running = runLoop(
      engine,
      {
        orders: () => true,
        slots: true,
        agenda: newMemory(),
        othersWait: () => false,
        onWoken(listener) {
          tell = listener;
        },
      },
      over.signal,
    ).catch(() => undefined);
    const order = (resource: 'customers' | 'invoices', id: number | undefined) =>
      createOrder(database.kysely, { source: engine.source, kind: 'refresh', resource, targets: [`one ${id}`] });
    const isDone = (id: string) => async () => (await readOrders(database.kysely, [id]))[0]?.state === 'done';
    const [customer] = sandbox.rows('customers');
    const [invoice] = sandbox.rows('invoices');

    await clock.sleepers();
    sandbox.failNext('hang', 1, /customers/);
    const before = sandbox.stats.total;
    const held = await order('customers', customer?.id);
    tell();
    await until(async () => sandbox.stats.total > before);
    const meanwhile = await order('invoices', invoice?.id);
    tell();
    await until(isDone(meanwhile.id));
    expect((await readOrders(database.kysely, [held.id]))[0]?.state).toBe('running');
    over.abort();
    await running;
    await engine.close();
  });
  await sandbox.close();
});

test('a backfill that waits for the limit leaves its list to a refresh, however often the loop is told of work', async () => {
  const sandbox = await openSandbox({ size: { customers: 20, invoices: 200, transactions: 20 }, rateLimit: 0 });
  await withDatabase(async database => {
    const options = { resources: ['invoices'], pageSize: 10 } as const;
    const loaded = await openEngine(database, sandbox, { ...options, limit: 100_000 });
    await serveOrders(loaded, 'sync', { whole: true });
    await loaded.close();
    const clock = manualClock(Date.now());
    const engine = await openEngine(database, sandbox, { ...options, clock, limit: sandbox.stats.total + 4 });
    const over = new AbortController();
    let tell = () => {};
    const onWoken = (listener: () => void) => {
      tell = listener;
    };
    const serves = { orders: () => true, slots: true, onWoken };
    const given = { source: engine.source, resource: 'invoices' } as const;
    await createOrder(database.kysely, { ...given, kind: 'backfill' });
    const running = runLoop(engine, serves, over.signal).catch(() => undefined);
    // One sleep is that of the loop, the other that of the request.
    await clock.sleepers(2);
    const [invoice] = sandbox.rows('invoices');
    const { id } = await createOrder(database.kysely, { ...given, kind: 'refresh', targets: [`one ${invoice?.id}`] });
    const hasRead = async () => {
      tell();
      clock.advance(1000);
      const { rows } = await database.query(`select from sluice.orders where id = ${id} and requests > 0`);
      return rows.length > 0;
    };
    await until(hasRead);
    over.abort();
    await running;
    await engine.close();
  });
  await sandbox.close();
});
