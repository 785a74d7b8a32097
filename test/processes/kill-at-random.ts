import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { createRandom, mix, type Random } from '../../sandbox/data/random.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { begin, run, until } from '../cli/run-command.ts';
import { createWatch, recordDeletions } from '../simulation/play/watch.ts';
import { differences } from '../support/compare.ts';
import { MAIN } from '../support/resources.ts';
import { CONCURRENCY, killPostgres, NOTHING_UNENDED, unended, withKillable } from './killable.ts';
import { openWarehouse } from './own-server.ts';

export interface Killed {
  readonly sluice: number;
  readonly postgres: number;
  /** Requests whose answers no commit kept. */
  readonly lost: number;
  readonly requests: number;
}

/** Then another source and an empty warehouse, so that first syncs are hit as often as what follows them. */
const KILLS_PER_WAREHOUSE = 20;

const SYNC = ['sync'];
const LATER = [
  SYNC,
  SYNC,
  ['backfill', 'invoices', '--from', '2025-01-01', '--to', '2025-12-31'],
  ['backfill', 'transactions'],
  ['backfill', 'customers'],
  ['verify', '--repair'],
  ['verify', 'invoices', '--repair'],
];

/** Kills real processes, Sluice's and the Postgres server's, while the source changes; fails when anything is lost or doubled by it. */
export async function killAtRandom(options: {
  kills: number;
  seed: number;
  say: (line: string) => void;
}): Promise<Killed> {
  const { kills, seed, say } = options;
  const all = { sluice: 0, postgres: 0, lost: 0, requests: 0 };
  for (let done = 0; done < kills; done += KILLS_PER_WAREHOUSE) {
    const here = Math.min(KILLS_PER_WAREHOUSE, kills - done);
    const killed = await killInOneWarehouse(here, mix(seed, done));
    for (const [name, value] of Object.entries(killed) as [keyof Killed, number][]) all[name] += value;
    say(
      `${done + here} of ${kills}: ${all.sluice} times Sluice, ${all.postgres} times Postgres; ` +
        `${all.requests} requests, ${all.lost} of them lost`,
    );
  }
  return all;
}

async function killInOneWarehouse(kills: number, seed: number): Promise<Killed> {
  const random = createRandom(seed);
  const killed = { sluice: 0, postgres: 0, lost: 0, requests: 0 };
  const size = { customers: 600, invoices: 2500, transactions: 4000 };
  await withKillable({ size, seed, latencyMs: 20 }, async ({ sandbox, dataDir, env }) => {
    // What was begun and is to be ended at the end, by the words of its command.
    const begun = new Map([[SYNC.join(' '), SYNC]]);
    const looks = createLooks(sandbox, dataDir);
    let readOnce = false;
    for (let kill = 0; kill < kills; kill++) {
      const args = readOnce || random.chance(0.15) ? random.pick(LATER) : SYNC;
      begun.set(args.join(' '), args);
      const { victim, over } = await killOne({ args, env, dataDir, sandbox, random });
      if (victim !== null) killed[victim]++;
      if (over && args === SYNC) readOnce = true;
      // Most often the next command has to start the server; now and then a look does.
      if (random.chance(0.4)) await looks.look(`after kill ${kill + 1}`, killed.sluice + killed.postgres);
      sandbox.changeRandom(random.int(0, 12));
    }
    expect(killed.sluice + killed.postgres).toBeGreaterThan(kills / 2);

    // What was interrupted is gone on with; who asks again wants the changes since, too.
    for (const args of [...begun.values(), SYNC, SYNC]) {
      const ended = await run([...args, '--json'], { env });
      expect([args, ended.code, ended.stderr, ended.stdout]).toEqual([args, 0, expect.any(String), expect.any(String)]);
      for (const { state } of ended.json().resources) expect(state).toBe('done');
    }
    killed.lost = await looks.look('at the end', killed.sluice + killed.postgres);
    const { database, close } = await openWarehouse(dataDir);
    expect(await differences(database, sandbox)).toEqual([]);
    expect(await counts(database)).toEqual(countsOf(sandbox));
    expect(await unended(database)).toEqual(NOTHING_UNENDED);

    const before = await versions(database);
    const further = await run(SYNC, { env });
    expect([further.code, further.stderr]).toEqual([0, expect.any(String)]);
    expect(await versions(database)).toEqual(before);
    await close();
    killed.requests = sandbox.stats.total;
  });
  return killed;
}

type Victim = 'sluice' | 'postgres';

/** Begins a command and kills it, or the server under it, somewhere; `victim` is null when it was over before. */
async function killOne(given: {
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  dataDir: string;
  sandbox: Sandbox;
  random: Random;
}): Promise<{ victim: Victim | null; over: boolean }> {
  const { args, env, dataDir, sandbox, random } = given;
  const aim: Victim = random.chance(0.3) ? 'postgres' : 'sluice';
  // One in five is hit before its first request, wherever it may be then.
  const early = random.chance(0.2);
  const [earlyMs, requests, lateMs] = [random.int(0, 700), random.int(1, 14), random.int(0, 30)];

  const command = begin([...args, '--json'], { env });
  let over = false;
  void command.ended.finally(() => {
    over = true;
  });
  if (early) await delay(earlyMs);
  else {
    const at = sandbox.stats.total + requests;
    await until(() => over || sandbox.stats.total >= at);
    await delay(lateMs);
  }
  const struck = !over && (aim === 'sluice' ? command.child.kill('SIGKILL') : await killPostgres(dataDir));
  const { code, stdout, stderr } = await command.ended;
  if (code === null) return { victim: 'sluice', over: false };
  if (code !== 0) {
    // Without its server a command ends by itself, and says so.
    expect([struck && aim, code, stdout, stderr]).toEqual([
      'postgres',
      1,
      expect.stringContaining('"database"'),
      stderr,
    ]);
    expect(stderr).not.toContain('bug in Sluice');
  }
  return { victim: struck && aim === 'postgres' ? 'postgres' : null, over: code === 0 };
}

/** Looks between kills: no row that was there is absent, none was deleted too soon, and no kill cost more requests than it may. */
function createLooks(sandbox: Sandbox, dataDir: string) {
  let current: Database | undefined;
  const query: Database['query'] = (...given) => (current as Database).query(...given);
  const watch = createWatch({ query } as Database, sandbox, MAIN);
  return {
    /** Requests lost so far. */
    async look(when: string, kills: number): Promise<number> {
      const { database, close } = await openWarehouse(dataDir);
      current = database;
      let lost = 0;
      // A kill in the middle of the migrations leaves nothing to look at.
      const { rows: tables } = await query(
        "select from pg_tables where schemaname = 'warehouse' and tablename = 'row_history'",
      );
      if (tables.length > 0) {
        await recordDeletions(database);
        watch.look();
        await watch.lookAtAll(when);
        await watch.done();
        const { rows } = await query<{ kept: number }>(
          'select coalesce(sum(requests), 0)::int as kept from sluice.runs',
        );
        lost = sandbox.stats.total - (rows[0]?.kept ?? 0);
      }
      await close();
      expect(watch.problems).toEqual([]);
      expect(lost, `requests lost ${when}`).toBeLessThanOrEqual(2 * CONCURRENCY * kills);
      return lost;
    },
  };
}

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

/** Changes with every row version written, and with every row touched by a lock that writes. */
async function versions(database: Database): Promise<unknown> {
  const each = [...TABLES, 'invoice_items', 'row_history'].map(
    table => `select '${table}' as table, count(*)::int as rows,
      md5(string_agg(concat(ctid, xmin, xmax), ',' order by ctid)) as versions from warehouse.${table}`,
  );
  return (await database.query(each.join(' union all '))).rows;
}
