import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE, SECOND } from '../../src/clock.ts';
import { cpuSeconds } from '../fleet-usage.ts';
import { openPostgres, type Postgres } from '../support/open-postgres.ts';
import { countsOf, openSource, type Source } from '../support/open-source.ts';
import { environmentOf, runSluice, startSluice } from '../support/run-sluice.ts';
import { runConnector } from './run-connector.ts';
import { COUNTING, readUsage } from './server-usage.ts';

/** Per request, but for the first two. */
export interface RequestFigures {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly statements: number;
  readonly commits: number;
  /** CPU of Sluice or of the connector. */
  readonly clientCpuMs: number;
  readonly postgresCpuMs: number;
}

export type Phase = 'load' | 'service' | 'perPage' | 'perRow';

// Requests count for one window, so a short one lets the service begin soon after the first load.
const WINDOW_SECONDS = 10;

interface Options {
  readonly records: number;
  readonly perSecond: number;
  readonly warmSeconds: number;
  readonly seconds: number;
}

/** One run on an empty Postgres: the first load, the service after it, and the plain connector twice. */
export async function measureRequests(options: Options): Promise<Record<Phase, RequestFigures>> {
  const source = await openSource({ size: countsOf(options.records), page: '100' });
  try {
    const postgres = await openPostgres(COUNTING);
    try {
      const load = await measureLoad(postgres, source);
      const service = await measureService(postgres, source, options);
      const connector = (perRow: boolean) => measured(postgres, () => runConnector(postgres, source, { perRow }));
      return { load, service, perPage: await connector(false), perRow: await connector(true) };
    } finally {
      await postgres.close();
    }
  } finally {
    await source.close();
  }
}

async function measureLoad(postgres: Postgres, source: Source): Promise<RequestFigures> {
  const environment = environmentOf(source, postgres.url, { SOURCE_RATE_WINDOW_SECONDS: String(WINDOW_SECONDS) });
  await runSluice(['migrate'], environment);
  return measured(postgres, async () => {
    const { exit, cpuMs } = await runSluice(['sync'], environment);
    if (exit !== 0) throw new Error('The first load failed.');
    return { requests: await countRequests(postgres), cpuMs };
  });
}

/** A service that is paced by its limit, after a while of warming up. */
async function measureService(postgres: Postgres, source: Source, options: Options): Promise<RequestFigures> {
  const environment = environmentOf(source, postgres.url, {
    SOURCE_RATE_LIMIT: String(options.perSecond * WINDOW_SECONDS),
    SOURCE_RATE_WINDOW_SECONDS: String(WINDOW_SECONDS),
    SLUICE_PORT: '0',
  });
  const child = startSluice(['start'], environment);
  child.stdout?.resume();
  child.stderr?.resume();
  const exited = once(child, 'exit');
  try {
    await delay(options.warmSeconds * SECOND);
    const [requests, cpu] = [await countRequests(postgres), cpuSeconds(child.pid)];
    return await measured(postgres, async () => {
      await delay(options.seconds * SECOND);
      return {
        requests: (await countRequests(postgres)) - requests,
        cpuMs: (cpuSeconds(child.pid) - cpu) * 1000,
      };
    });
  } finally {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), MINUTE);
    await exited;
    clearTimeout(late);
  }
}

async function measured(
  postgres: Postgres,
  work: () => Promise<{ requests: number; cpuMs: number }>,
): Promise<RequestFigures> {
  const before = await readUsage(postgres);
  const started = performance.now();
  const { requests, cpuMs } = await work();
  const seconds = (performance.now() - started) / SECOND;
  const after = await readUsage(postgres);
  return {
    requests,
    requestsPerSecond: requests / seconds,
    statements: (after.statements - before.statements) / requests,
    commits: (after.commits - before.commits) / requests,
    clientCpuMs: cpuMs / requests,
    postgresCpuMs: (after.cpuMs - before.cpuMs) / requests,
  };
}

async function countRequests({ admin }: Postgres): Promise<number> {
  const { rows } = await admin.query<{ requests: number }>('select count(*)::int as requests from sluice.requests');
  return rows[0]?.requests ?? 0;
}
