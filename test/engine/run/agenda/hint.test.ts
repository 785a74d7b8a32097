import { expect, test } from 'vitest';
import { MINUTE, SECOND } from '../../../../src/clock.ts';
import { newMemory } from '../../../../src/engine/run/agenda/agenda.ts';
import { runLoop } from '../../../../src/engine/run/loop.ts';
import { openSandbox } from '../../../../src/sandbox/sandbox.ts';
import { leaveHints } from '../../../../src/warehouse/ledgers/hints.ts';
import { recordSlot } from '../../../../src/warehouse/ledgers/slots.ts';
import { withDatabase } from '../../../support/database.ts';
import { openEngine, serveOrders } from '../../../support/source.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

/** Three seconds for each request. */
const LIMIT = 300;
const WINDOW_MS = 15 * MINUTE;
/** A reading of five pages that is under way, and the other readings. Their requests do not wait for the pace. */
const MOST_BEFORE = 8;

test('a hint is served within seconds although the agenda uses the whole limit', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ size: { customers: 600, invoices: 200, transactions: 400 }, clock });
    const engine = await openEngine(database, sandbox, { clock, limit: LIMIT, windowMs: WINDOW_MS, pageSize: 20 });
    await serveOrders(engine, 'sync');
    for (const { name } of engine.resources) await recordSlot(database.kysely, 'main', name, new Date(clock.now()));
    const over = new AbortController();
    const serves = {
      orders: () => true,
      slots: true,
      pace: 'even',
      memory: newMemory(),
      othersWait: () => false,
    } as const;
    const service = (async () => {
      while (!over.signal.aborted) await runLoop(engine, serves, over.signal);
    })().catch((error: unknown) => error);
    await clock.sleep(WINDOW_MS * 1.5);

    for (const { id } of [...sandbox.rows('invoices')].slice(0, 5)) {
      await clock.sleep(MINUTE);
      sandbox.update('invoices', id, { notes: `hinted ${id}` });
      const asked = sandbox.stats.requests.length;
      await leaveHints(database.kysely, [{ source: 'main', resource: 'invoices', slice: `one ${id}` }]);
      const isShown = async () =>
        (await database.query('select from warehouse.invoices where id = $1 and notes = $2', [id, `hinted ${id}`]))
          .rowCount === 1;
      while (!(await isShown())) await clock.sleep(SECOND);
      const since = sandbox.stats.requests.slice(asked).map(({ path }) => path);
      const others = since.findIndex(path => path.includes('customer_id='));
      expect(others, since.join('\n')).toBeGreaterThanOrEqual(0);
      expect(others).toBeLessThanOrEqual(MOST_BEFORE);
    }
    expect(await engine.free?.()).toBeLessThan(LIMIT / 10);
    over.abort();
    await service;
    await engine.close();
    await sandbox.close();
  });
}, 120_000);
