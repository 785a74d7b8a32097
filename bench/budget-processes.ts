import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openSandbox } from '../sandbox/sandbox.ts';
import type { Variants } from '../sandbox/variants/variants.ts';
import { SECOND } from '../src/clock.ts';
import { createLog } from '../src/log.ts';
import { type Database, openDatabase } from '../src/warehouse/database/database.ts';
import { type Server, withClone } from '../test/simulation/play/server.ts';
import { CONCURRENCY, type Figures, figuresOf, PROCESSES } from './budget-figures.ts';

const LIMIT = 50;
const WINDOW_MS = 10 * SECOND;
/** Long enough that a kill finds requests in flight. */
const LATENCY_MS = 100;

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const log = createLog({ level: 'silent' });

/**
 * Real processes, each with its own schema, sync from one source with one key for `ms` of real time. One after the other is
 * killed with requests in flight and started again.
 */
export function saturateByProcesses(
  server: Server,
  window: Variants['rate-window'],
  { ms, kills }: { ms: number; kills: number },
): Promise<Figures> {
  return withClone(server, async url => {
    const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
    const database = await openDatabase({ url, applicationName: 'bench', log, max: 2 });
    const sandbox = await openSandbox({
      size: { customers: 20_000, invoices: 20_000, transactions: 40_000 },
      rateLimit: LIMIT,
      rateWindowMs: WINDOW_MS,
      latencyMs: LATENCY_MS,
      variants: { 'rate-window': window, 'rejected-count': 'yes' },
    });
    const start = (schema: string) => {
      const { PATH = '', HOME = '' } = process.env;
      const env = {
        PATH,
        HOME,
        DATABASE_URL: url,
        WAREHOUSE_SCHEMA: schema,
        SOURCE_URL: sandbox.url,
        SOURCE_API_KEY: sandbox.apiKey,
        SOURCE_CONCURRENCY: String(CONCURRENCY),
        SOURCE_RATE_LIMIT: String(LIMIT),
        SOURCE_RATE_WINDOW_SECONDS: String(WINDOW_MS / SECOND),
        // A killed process's requests count until their time-out, and for a window after it.
        SOURCE_TIMEOUT_SECONDS: '2',
      };
      return spawn(process.execPath, [...process.execArgv, main, 'sync', '--json'], {
        env,
        cwd: home,
        stdio: 'ignore',
      });
    };
    const schemas = Array.from({ length: PROCESSES }, (_, index) => `warehouse_${index + 1}`);
    const running = new Map<string, ChildProcess>();
    try {
      for (const schema of schemas) running.set(schema, start(schema));
      await until(async () => (await sourcesAsking(database)) === PROCESSES);
      const fromMs = sandbox.now() + WINDOW_MS;
      const toMs = fromMs + ms;
      const lost = new Map<string, number>();
      const wasted: number[] = [];
      for (let kill = 0; kill < kills; kill++) {
        await delay(Math.max(fromMs + ((kill + 0.5) * ms) / kills - sandbox.now(), 0));
        const schema = schemas[kill % PROCESSES] as string;
        const child = running.get(schema) as ChildProcess;
        await until(async () => child.exitCode !== null || (await isAsking(database, schema)));
        if (child.exitCode !== null) throw new Error(`The sync into ${schema} ended by itself (${child.exitCode}).`);
        await killed(child, database, schema);
        const now = await lostBy(database, schema);
        wasted.push(now - (lost.get(schema) ?? 0));
        lost.set(schema, now);
        running.set(schema, start(schema));
      }
      await delay(Math.max(toMs - sandbox.now(), 0));
      return {
        ...figuresOf(sandbox, { limit: LIMIT, windowMs: WINDOW_MS, fromMs, toMs }),
        wasted,
        passed: [],
        passedTicks: [],
      };
    } finally {
      await Promise.all([...running.values()].map(end));
      await database.close();
      await sandbox.close();
      await rm(home, { recursive: true, force: true });
    }
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Waits until Postgres has noticed the exit, and committed or rolled back the last transaction. */
async function killed(child: ChildProcess, database: Database, schema: string): Promise<void> {
  await end(child);
  const name = `sluice reads ${schema}`;
  await until(async () => {
    const { rows } = await database.query(
      `select from pg_stat_activity where datname = current_database()
       and (application_name = $1 or (application_name like 'sluice%' and xact_start < now() - interval '1 second'))`,
      [name],
    );
    return rows.length === 0;
  });
}

async function sourcesAsking(database: Database): Promise<number> {
  const { rows } = await database.query<{ n: number }>('select count(distinct source)::int as n from sluice.requests');
  return rows[0]?.n ?? 0;
}

async function isAsking(database: Database, source: string): Promise<boolean> {
  const { rows } = await database.query(
    'select from sluice.requests where source = $1 and settled_at is null and counts_until > sluice.now() limit 1',
    [source],
  );
  return rows.length > 0;
}

/** Requests of this source so far whose answers no commit kept. */
async function lostBy(database: Database, source: string): Promise<number> {
  const { rows } = await database.query<{ lost: number }>(
    `select (select count(*) from sluice.requests where source = $1)::int
       - (select coalesce(sum(requests), 0) from sluice.runs where source = $1)::int as lost`,
    [source],
  );
  return rows[0]?.lost ?? 0;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(20);
}
