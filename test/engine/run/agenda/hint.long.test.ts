import { expect, test } from 'vitest';
import { openSandbox } from '../../../../sandbox/sandbox.ts';
import type { Budget } from '../../../../src/budget/budget.ts';
import { MINUTE, SECOND } from '../../../../src/clock.ts';
import { newMemory } from '../../../../src/engine/run/agenda.ts';
import { runLoop } from '../../../../src/engine/run/loop.ts';
import { leaveHints } from '../../../../src/warehouse/ledgers/hints.ts';
import { recordSlot } from '../../../../src/warehouse/ledgers/slots.ts';
import { withDatabase } from '../../../support/database.ts';
import { openEngine, serveOrders } from '../../../support/source.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const LIMIT = 150;
const WINDOW_MS = 5 * MINUTE;
/** Time stands still while a request is under way. */
function noteGrants(budget: Budget, underWay: Set<string>): Budget {
  return {
    async take(lane, want) {
      const taken = await budget.take(lane, want);
      for (const { id } of taken.grants) underWay.add(id);
      return taken;
    },
    settle: (grant, settlement) => budget.settle(grant, settlement).finally(() => underWay.delete(grant.id)),
    flush: () => budget.flush(),
    async release(grants) {
      for (const { id } of grants) underWay.delete(id);
      await budget.release(grants);
    },
  };
}

test('a hint is served within seconds although the agenda uses the whole limit', async () => {
  await withDatabase(async database => {
    const underWay = new Set<string>();
    const clock = await createVirtualClock(database, undefined, { busy: () => underWay.size > 0 });
    const sandbox = await openSandbox({ size: { customers: 60, invoices: 400, transactions: 120 }, clock });
    const engine = await openEngine(database, sandbox, {
      clock,
      limit: LIMIT,
      windowMs: WINDOW_MS,
      pageSize: 20,
      wrapBudget: budget => noteGrants(budget, underWay),
    });
    await serveOrders(engine, 'sync');
    for (const { name } of engine.resources) await recordSlot(database.kysely, 'main', name, new Date(clock.now()));
    const over = new AbortController();
    const serves = {
      orders: () => true,
      slots: true,
      agenda: newMemory(),
      othersWait: () => false,
    } as const;
    const service = (async () => {
      while (!over.signal.aborted) await runLoop(engine, serves, over.signal);
    })().catch((error: unknown) => error);
    // In short steps: a longer one would be taken at once while the loop does something else than to sleep.
    const pass = async (ms: number) => {
      for (const end = clock.now() + ms; clock.now() < end; ) await clock.sleep(SECOND);
    };
    // Until what the first reading used has returned, and has been used evenly since.
    await pass(2 * WINDOW_MS);
    expect((await engine.forecast?.())?.free).toBeLessThan(LIMIT / 50);

    for (const { id } of [...sandbox.rows('invoices')].slice(0, 2)) {
      await pass(MINUTE / 3);
      sandbox.update('invoices', id, { notes: `hinted ${id}` });
      const at = clock.now();
      await leaveHints(database.kysely, [{ source: 'main', resource: 'invoices', slice: `one ${id}` }]);
      const isShown = async () =>
        (await database.query('select from warehouse.invoices where id = $1 and notes = $2', [id, `hinted ${id}`]))
          .rowCount === 1;
      while (!(await isShown())) await clock.sleep(SECOND / 2);
      expect(clock.now() - at).toBeLessThanOrEqual(10 * SECOND);
    }
    over.abort();
    await service;
    await engine.close();
    await sandbox.close();
  });
}, 120_000);
