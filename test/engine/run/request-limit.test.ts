import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { HOUR, MINUTE, SECOND } from '../../../src/clock.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const LIMIT = 15;
const WINDOW_MS = 10 * SECOND;

async function withLimitedSource(
  variants: string,
  fn: (given: { database: Database; sandbox: Sandbox; engine: Engine }) => Promise<void>,
): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, undefined, { quietMs: 10 });
    const limited = { rateLimit: LIMIT, rateWindowMs: WINDOW_MS, clock };
    const sandbox = await openSandbox({ ...limited, variants: parseVariants(variants) });
    const engine = await openEngine(database, sandbox, { clock, limit: LIMIT, windowMs: WINDOW_MS });
    await fn({ database, sandbox, engine });
    await engine.close();
    await sandbox.close();
  });
}

test.each(some(['rate-window=sliding', 'rate-window=fixed', 'rate-window=token-bucket'], 1))(
  '%s: a first sync far above the limit gets no 429 and ends equal',
  async text => {
    await withLimitedSource(text, async ({ database, sandbox, engine }) => {
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(order => order.reason ?? order.state)).toEqual(['done', 'done', 'done']);
      expect(sandbox.stats.total).toBeGreaterThan(2 * LIMIT);
      expect({ rejected: sandbox.stats.rejected, over: sandbox.stats.maxInWindow > LIMIT }).toEqual({
        rejected: 0,
        over: false,
      });
      expect(await differences(database, sandbox)).toEqual([]);
    });
  },
);

test.each(
  some(
    [
      'rate-reset=epoch-s',
      'rate-reset=epoch-ms',
      'rate-reset=seconds',
      'rate-reset=http-date',
      'rate-reset=stale',
      'rate-headers=only-429',
      'retry-after=seconds',
      'retry-after=http-date',
      'retry-after=absent',
      'rejected-count=yes',
    ],
    4,
  ),
)(
  '%s: when another tool has used up the limit, the run waits as long as the source says and ends equal',
  async text => {
    await withLimitedSource(text, async ({ database, sandbox, engine }) => {
      sandbox.spend(LIMIT - 2);
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(order => order.reason ?? order.state)).toEqual(['done', 'done', 'done']);
      // The requests in flight at the first refusal, and at most one attempt after each wait.
      expect(sandbox.stats.rejected).toBeLessThan(LIMIT);
      expect(await differences(database, sandbox)).toEqual([]);
    });
  },
);

test.each(some(['sliding', 'fixed', 'token-bucket'], 1))(
  'a limit that is counted per minute (%s) is found out and used without a 429, and the profile keeps it',
  async kind => {
    await withDatabase(async database => {
      const clock = await createVirtualClock(database, undefined, { quietMs: 10 });
      const variants = parseVariants(`rate-length=minute,rate-window=${kind}`);
      const sandbox = await openSandbox({ rateLimit: 100, clock, variants });
      const engine = await openEngine(database, sandbox, { clock, limit: 1000, windowMs: HOUR });
      const begun = clock.now();
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(order => order.reason ?? order.state)).toEqual(['done', 'done', 'done']);
      expect(sandbox.stats.rejected).toBe(0);
      // Counted per hour, ten requests would take an hour.
      expect(sandbox.stats.total).toBeGreaterThan(25);
      expect(clock.now() - begun).toBeLessThan(30 * MINUTE);
      await engine.close();
      const { rows } = await database.query("select value from sluice.traits where trait = 'request limit'");
      expect(rows).toEqual([{ value: expect.stringMatching(/^10 in \d+ s$/) }]);
      expect(await differences(database, sandbox)).toEqual([]);
      await sandbox.close();
    });
  },
);
