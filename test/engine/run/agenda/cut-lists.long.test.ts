import { expect, test } from 'vitest';
import { openSandbox } from '../../../../sandbox/sandbox.ts';
import { HOUR, MINUTE } from '../../../../src/clock.ts';
import { newMemory } from '../../../../src/engine/run/agenda.ts';
import { runLoop } from '../../../../src/engine/run/loop.ts';
import { recordSlot } from '../../../../src/warehouse/ledgers/slots.ts';
import { differences } from '../../../support/compare.ts';
import { withDatabase } from '../../../support/database.ts';
import { openEngine, serveOrders } from '../../../support/source.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

test('windows are cut anew without a request, and what changes in them still arrives', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ size: { customers: 20, invoices: 60, transactions: 3000 }, clock });
    const engine = await openEngine(database, sandbox, { clock, pageSize: 20 });
    await serveOrders(engine, 'sync');
    const windows = async () => {
      const { rows } = await database.query<{ slice: string; rows: string }>(
        `select slice, rows from sluice.coverage where resource = 'transactions' and slice like 'date %'`,
      );
      return rows;
    };
    const before = await windows();
    const pages = (all: typeof before) =>
      all.reduce((sum, { rows }) => sum + Math.max(Math.ceil(Number(rows) / 20), 1), 0);

    const tick = async () => {
      for (const { name } of engine.resources) await recordSlot(database.kysely, 'main', name, new Date(clock.now()));
      await runLoop(engine, { orders: () => false, slots: true, agenda: newMemory() }, new AbortController().signal);
      await clock.advance(15 * MINUTE);
    };
    await tick();
    await tick();
    const after = await windows();
    expect(pages(after)).toBeLessThan(pages(before));
    expect(Math.max(...after.map(({ rows }) => Number(rows)))).toBeLessThanOrEqual(100);

    sandbox.changeRandom(60);
    for (let at = 0; at < 2 * HOUR; at += 15 * MINUTE) await tick();
    await serveOrders(engine, 'sync');
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});
