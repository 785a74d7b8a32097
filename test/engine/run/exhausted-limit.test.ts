import { expect, test, vi } from 'vitest';
import { openSandbox, type SandboxOptions } from '../../../sandbox/sandbox.ts';
import { HOUR, MINUTE } from '../../../src/clock.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { createOrder, readOrders } from '../../../src/warehouse/ledgers/orders.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { whatIsDue } from '../../../src/warehouse/reports/due.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine } from '../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

vi.setConfig({ testTimeout: 180_000 });

const LIMIT = 1000;
const CONCURRENCY = 4;
const RESOURCES = ['customers', 'invoices', 'transactions'] as const;

interface Spent {
  readonly how: string;
  readonly source: Partial<SandboxOptions>;
  /** Requests that the source may refuse during the hour. */
  readonly most: number;
}

const SPENT: Spent[] = [
  // The requests in flight at the first refusal; after it, all wait as long as the source says.
  { how: 'says until when', source: {}, most: CONCURRENCY },
  {
    how: 'says only that nothing is left',
    source: { variants: { 'rate-headers': 'only-429', 'rate-reset': 'stale', 'retry-after': 'absent' } },
    most: CONCURRENCY,
  },
  // Waits double from half a second to ten minutes: 11 doublings, then 4 or 5 of the longest.
  { how: 'says nothing', source: { rateLimit: 0 }, most: 16 * CONCURRENCY },
];

test.each(some(SPENT, 2))(
  'when another tool uses up the hourly limit and the refusal $how, all runs wait visibly and continue by themselves',
  async ({ source, most }) => {
    await withDatabase(async database => {
      const clock = await createVirtualClock(database, undefined, { quietMs: 10 });
      const sandbox = await openSandbox({ clock, rateLimit: LIMIT, ...source });
      const engine = await openEngine(database, sandbox, { clock, limit: LIMIT, concurrency: CONCURRENCY });
      if (source.rateLimit === 0) sandbox.failNext('json-429', 10 * LIMIT);
      else sandbox.spend(LIMIT);
      const { id } = await createOrder(database.kysely, { source: 'main', resource: 'transactions', kind: 'backfill' });

      const looks = await serveFor(engine, clock, HOUR - MINUTE);
      for (const { minute, runs } of looks) {
        expect([minute, runs.map(run => run.resource).sort()]).toEqual([minute, [...RESOURCES, 'transactions'].sort()]);
        for (const { state, ahead } of runs) expect([minute, state, ahead]).toEqual([minute, 'waiting', true]);
      }
      expect(sandbox.stats.total).toBeLessThanOrEqual(most);
      expect(new Set(sandbox.stats.requests.map(request => request.status))).toEqual(new Set([429]));

      sandbox.forgetFaults();
      await serveFor(engine, clock, 20 * MINUTE);
      expect(await ended(engine)).toEqual([
        { kind: 'backfill', state: 'done' },
        { kind: 'slot', state: 'done' },
      ]);
      expect(await readOrders(database.kysely, [id])).toMatchObject([{ state: 'done', reason: null }]);
      expect(await differences(database, sandbox)).toEqual([]);
      expect(sandbox.stats.rejected).toBeLessThanOrEqual(most);
      await engine.close();
      await sandbox.close();
    });
  },
);

interface Look {
  readonly minute: number;
  /** The open runs, and whether the time they wait for is in the future. */
  readonly runs: { resource: string; state: string; ahead: boolean | null }[];
}

/** Like `sluice start`: a tick every 15 minutes, a wake-up every minute, and a reader that leaves while everything waits. */
async function serveFor(engine: Engine, clock: VirtualClock, ms: number): Promise<Look[]> {
  const { kysely } = engine.database;
  const looks: Look[] = [];
  const from = clock.now();
  let nextTick = from;
  while (clock.now() < from + ms) {
    if (clock.now() >= nextTick) {
      for (const resource of RESOURCES) await recordSlot(kysely, 'main', resource, new Date(clock.now()));
      nextTick += 15 * MINUTE;
    }
    if ((await whatIsDue(kysely, 'main')).now)
      await runLoop(engine, { orders: () => true, slots: true, yields: true }, new AbortController().signal);
    const { rows } = await engine.database.query<Look['runs'][number]>(
      'select resource, state, waiting_until > sluice.now() as ahead from sluice.runs where ended_at is null',
    );
    looks.push({ minute: Math.floor((clock.now() - from) / MINUTE), runs: rows });
    await clock.advance(MINUTE);
  }
  return looks;
}

async function ended(engine: Engine): Promise<unknown> {
  const { rows } = await engine.database.query('select distinct kind, state from sluice.runs order by 1, 2');
  return rows;
}
