import { expect, test } from 'vitest';
import { openSandbox } from '../../../../sandbox/sandbox.ts';
import { HOUR, MINUTE } from '../../../../src/clock.ts';
import { newMemory } from '../../../../src/engine/run/agenda.ts';
import { runLoop } from '../../../../src/engine/run/loop.ts';
import { recordSlot } from '../../../../src/warehouse/ledgers/slots.ts';
import { withDatabase } from '../../../support/database.ts';
import { openEngine, serveOrders } from '../../../support/source.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

/** Ten seconds for each request. */
const LIMIT = 360;
/** What two minutes save, and no more than that. */
const SAVED = 12;

test('loops that follow each other share one pace, which counts the requests of ticks and repetitions too', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ size: { customers: 20, invoices: 50, transactions: 50 }, clock });
    const engine = await openEngine(database, sandbox, { clock, limit: LIMIT });
    await serveOrders(engine, 'sync');
    await clock.advance(60 * MINUTE);
    const memory = newMemory();
    const sent = async () => {
      const before = sandbox.stats.total;
      const serves = { orders: () => false, slots: true, agenda: memory } as const;
      await runLoop(engine, serves, new AbortController().signal);
      return sandbox.stats.total - before;
    };
    for (const { name } of engine.resources) await recordSlot(database.kysely, 'main', name, new Date(clock.now()));
    const before = sandbox.stats.total;
    const begunAt = clock.now();
    const first = await sent();
    expect(first).toBeGreaterThanOrEqual(3);
    expect(first).toBeLessThanOrEqual(SAVED + 2);
    expect((await sent()) + (await sent()) + (await sent())).toBeLessThanOrEqual(2);

    for (let minute = 1; minute <= 10; minute++) {
      await clock.advance(MINUTE);
      sandbox.failNext('json-500', 2);
      await sent();
      // Repetitions and what they waited for included. The pace counts afterwards that a question took a page more, the one behind the end, and the two repetitions.
      const perTime = (clock.now() - begunAt) / (HOUR / LIMIT);
      expect(sandbox.stats.total - before).toBeGreaterThan(perTime - 3);
      expect(sandbox.stats.total - before).toBeLessThanOrEqual(SAVED + perTime + engine.concurrency + 2);
    }
    await engine.close();
    await sandbox.close();
  });
});
