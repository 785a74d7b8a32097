import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { SECOND, systemClock } from '../../../src/clock.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders, serveTick } from '../../support/source.ts';

/** Far more looks than one second each. A loop that only looks at the limit reaches it at once. */
const MOST_LOOKS = 60;

test('with a limit per second, and a database some milliseconds away, syncs and services read and look rarely at the limit', async () => {
  const sandbox = await openSandbox({ size: { customers: 60, invoices: 200, transactions: 200 }, rateLimit: 0 });
  await withDatabase(async database => {
    const opened = await openEngine(database, sandbox, { limit: 50, windowMs: SECOND });
    let looks = 0;
    const engine = {
      ...opened,
      async forecast() {
        if (++looks > MOST_LOOKS) throw new Error('The loop only looks at the limit.');
        await systemClock.sleep(10);
        return (await opened.forecast?.()) as never;
      },
    };
    for (const times of [1, 2])
      expect([times, await serveOrders(engine, 'sync')]).toMatchObject([
        times,
        engine.resources.map(() => ({ state: 'done' })),
      ]);
    await serveTick(engine, 15);
    expect(engine.granted()).toBeGreaterThan(15);
    expect(await differences(database, sandbox)).toEqual([]);
    await opened.close();
  });
  await sandbox.close();
});
