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

test('the agenda forgets how often it asked for rows that are no longer missing', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ size: { customers: 30, invoices: 5, transactions: 5 }, clock });
    const engine = await openEngine(database, sandbox, { clock, limit: 100 });
    await serveOrders(engine, 'sync');
    const memory = newMemory();
    const ids = [...sandbox.rows('customers')].map(({ id }) => id as number);
    for (let passed = 0; passed < 1.5 * HOUR; passed += 15 * MINUTE) {
      const at = clock.now();
      const [id] = passed < 30 * MINUTE ? ids.splice(0, 1) : [];
      if (id !== undefined) sandbox.remove('customers', id);
      for (const { name } of engine.resources) await recordSlot(database.kysely, 'main', name, new Date(at));
      const serves = { orders: () => false, slots: true, agenda: memory, othersWait: () => false } as const;
      await runLoop(engine, serves, new AbortController().signal);
      await clock.advance(at + 15 * MINUTE - clock.now());
    }
    expect(await differences(database, sandbox)).toEqual([]);
    expect([...memory.attempts].flatMap(([list, rows]) => [...rows.keys()].map(key => `${list} ${key}`))).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
}, 120_000);
