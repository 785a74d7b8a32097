import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createRandom } from '../../src/sandbox/random.ts';
import { openSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { begin, KEY, run, until, useBuild } from '../commands/run.ts';
import { differences } from '../support/compare.ts';
import { createTestDatabase } from '../support/database.ts';

useBuild();
vi.setConfig({ testTimeout: 180_000 });

/** More of them, or others, by hand: `KILLS=200 SEED=7 npx vitest run test/processes/kills.test.ts`. */
const KILLS = Number(process.env.KILLS ?? 10);
const SEED = Number(process.env.SEED ?? 20260115);

test(
  `a first sync killed ${KILLS} times at random (seed ${SEED}) while the source changes loses and doubles nothing`,
  async () => {
    const random = createRandom(SEED);
    const sandbox = await openSandbox({
      size: { customers: 600, invoices: 2500, transactions: 4000 },
      seed: SEED,
      apiKey: KEY,
      rateLimit: 0,
      latencyMs: 20,
      today: '2026-03-15',
    });
    // Not migrated yet: that is interrupted too.
    const own = await createTestDatabase({ empty: true });
    const env = {
      SOURCE_URL: sandbox.url,
      SOURCE_API_KEY: KEY,
      DATABASE_URL: own.url,
      SOURCE_RATE_LIMIT: '100000',
    };

    let hits = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const sync = begin(['sync', '--json'], { env });
      let over = false;
      void sync.ended.finally(() => {
        over = true;
      });
      // One in five dies before its first request, wherever it may be then.
      const early = random.chance(0.2);
      if (early) await delay(random.int(0, 700));
      else {
        const at = sandbox.stats.total + random.int(1, 12);
        await until(() => over || sandbox.stats.total >= at);
        await delay(random.int(0, 30));
      }
      if (sync.child.kill('SIGKILL')) hits += 1;
      const { code, stderr } = await sync.ended;
      if (code !== null) expect([code, stderr]).toEqual([0, expect.any(String)]);
      sandbox.changeRandom(random.int(0, 12));
    }
    expect(hits).toBeGreaterThan(KILLS / 2);

    // The interrupted orders are gone on with; who asks again wants the changes since, too.
    for (const _ of ['the rest', 'the changes since']) {
      const ended = await run(['sync', '--json'], { env });
      expect([ended.code, ended.stderr]).toEqual([0, expect.any(String)]);
      for (const { state } of ended.json().resources) expect(state).toBe('done');
    }
    const database = await own.open();
    try {
      expect(await differences(database, sandbox)).toEqual([]);
      expect(await counts(database)).toEqual(countsOf(sandbox));
      expect(await unended(database)).toEqual([{ runs: 0, orders: 0, missing: 0, quarantine: 0 }]);

      const before = await versions(database);
      expect((await run(['sync'], { env })).code).toBe(0);
      expect(await versions(database)).toEqual(before);
    } finally {
      await database.close();
      await sandbox.close();
    }
    await own.drop();
  },
  (60 + 5 * KILLS) * 1000,
);

const TABLES = ['customers', 'invoices', 'transactions'] as const;

/** Rows, and different ids among them. */
async function counts(database: Database): Promise<unknown> {
  const each = TABLES.map(
    table => `select count(*)::int as rows, count(distinct id)::int as ids from warehouse.${table}`,
  );
  return (await database.query(each.join(' union all '))).rows;
}

const countsOf = (sandbox: Sandbox): unknown =>
  TABLES.map(table => {
    const { length } = [...sandbox.rows(table)];
    return { rows: length, ids: length };
  });

async function unended(database: Database): Promise<unknown> {
  const { rows } = await database.query(
    `select (select count(*)::int from sluice.runs where ended_at is null) as runs,
      (select count(*)::int from sluice.orders where ended_at is null) as orders,
      (select count(*)::int from sluice.missing) as missing,
      (select count(*)::int from sluice.quarantine) as quarantine`,
  );
  return rows;
}

/** Changes with every row version written, and with every row touched by a lock that writes. */
async function versions(database: Database): Promise<unknown> {
  const each = [...TABLES, 'invoice_items', 'row_history'].map(
    table => `select '${table}' as table, count(*)::int as rows,
      md5(string_agg(concat(ctid, xmin, xmax), ',' order by ctid)) as versions from warehouse.${table}`,
  );
  return (await database.query(each.join(' union all '))).rows;
}
