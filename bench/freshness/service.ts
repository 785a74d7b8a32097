import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import { HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import { openEmbedded, stopEmbedded } from '../../src/embedded-postgres/embedded-server.ts';
import { createLog } from '../../src/log.ts';
import { type Database, openDatabase } from '../../src/warehouse/database/database.ts';
import { OTHERS_OFF } from '../support/run-sluice.ts';
import { createJudge } from './judge.ts';
import type { Plan } from './measure.ts';
import { judgeSince, recordShown } from './product/observe-warehouse.ts';
import { applyChange, fillSource } from './product/source-rows.ts';
import type { Measured } from './report.ts';
import { type Change, createStream } from './stream/stream.ts';

/** An hour of the stream passes in four minutes. */
const FASTER = 15;
/** How often changes are made at the source, in real time. */
const STEP_MS = 100;

const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const log = createLog({ level: 'silent' });

/**
 * Lets `sluice start` read the stream, built and in a process of its own, with a real clock: hours pass 15 times faster, a tick comes each
 * minute, and 1000 requests are allowed in four minutes. This shows what pacing and polling cost, which an injected clock hides.
 */
export async function measureService(plan: Plan, onHour: (hour: number) => void = () => undefined): Promise<Measured> {
  const home = await mkdtemp(join(tmpdir(), 'sluice-freshness-'));
  // As root, the server runs as an unprivileged user, who must be able to enter the folder.
  await chmod(home, 0o755);
  const { requestsPerHour } = plan.run;
  const size = { customers: 0, invoices: 0, transactions: 0 };
  const rateWindowMs = HOUR / FASTER;
  const sandbox = await openSandbox({ size, rateLimit: requestsPerHour, rateWindowMs, logRequests: 0 });
  try {
    const { url } = await openEmbedded({ dataDir: home, log });
    const database = await openDatabase({ url, applicationName: 'bench', log, max: 2 });
    try {
      return await watch({ plan, sandbox, database, url, home, onHour });
    } finally {
      await database.close();
    }
  } finally {
    await sandbox.close();
    await stopEmbedded(home);
    await rm(home, { recursive: true, force: true });
  }
}

interface Watched {
  readonly plan: Plan;
  readonly sandbox: Sandbox;
  readonly database: Database;
  readonly url: string;
  readonly home: string;
  readonly onHour: (hour: number) => void;
}

async function watch({ plan, sandbox, database, url, home, onHour }: Watched): Promise<Measured> {
  const { startMs, measuredFromMs, measuredToMs, endMs } = plan.run;
  const stream = createStream(plan.stream);
  fillSource(sandbox.data, stream);
  const service = startService(sandbox, url, home);
  try {
    // The tables exist once the service has opened its source.
    await untilTables(database);
    await recordShown(database);
    const began = Date.now();
    const streamTime = (at: number) => startMs + (at - began) * FASTER;
    const judge = createJudge({ customers: 1, invoices: 1, transactions: 1 }, plan.run);
    const changes: Change[] = [];
    let spent: { from: number; to: number } | null = null;
    for (let hour = 0, now = startMs; now < endMs && (now < measuredToMs || judge.pending > 0); ) {
      await delay(STEP_MS);
      now = streamTime(Date.now());
      for (const change of stream.advanceTo(now)) {
        applyChange(sandbox.data, change);
        changes.push(change);
      }
      if (now >= measuredFromMs) spent ??= { from: sandbox.stats.total, to: 0 };
      if (spent && now < measuredToMs) spent.to = sandbox.stats.total;
      await judgeSince(database, judge, () => changes.splice(0), streamTime);
      if (now >= startMs + (hour + 1) * HOUR) onHour(++hour);
    }
    const requests = spent ? spent.to - spent.from : 0;
    return { policy: 'sluice start', result: { outcomes: judge.outcomes(), requests, endMs: streamTime(Date.now()) } };
  } finally {
    service.kill('SIGTERM');
  }
}

function startService({ url: source, apiKey }: Sandbox, url: string, home: string) {
  const { PATH = '', HOME = '' } = process.env;
  const ticks = Object.fromEntries(
    ['CUSTOMERS', 'INVOICES', 'TRANSACTIONS'].map(name => [`SCHEDULE_${name}`, '* * * * *']),
  );
  const env = {
    PATH,
    HOME,
    ...ticks,
    ...OTHERS_OFF,
    SOURCE_URL: source,
    SOURCE_API_KEY: apiKey,
    SOURCE_RATE_WINDOW_SECONDS: String(HOUR / FASTER / SECOND),
    // As long at the source as the default is elsewhere.
    SOURCE_LAG_SECONDS: String(MINUTE / FASTER / SECOND),
    DATABASE_URL: url,
    SLUICE_PORT: '0',
    LOG_LEVEL: 'warn',
  };
  return spawn(process.execPath, [main, 'start'], { env, cwd: home, stdio: ['ignore', 'ignore', 'inherit'] });
}

async function untilTables(database: Database): Promise<void> {
  for (;;) {
    const { rows } = await database.query<{ ready: boolean }>(
      `select count(*) = 3 as ready from information_schema.tables
        where table_schema = 'warehouse' and table_name in ('customers', 'invoices', 'transactions')`,
    );
    if (rows[0]?.ready) return;
    await delay(STEP_MS);
  }
}
