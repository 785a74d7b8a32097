// Measures the console: the time to the first byte of each page with many sources and runs, and what a page costs while it is open. Linux only.
//   npx tsx bench/console.ts [--sources 200] [--runs 10000] [--rows 20000] [--seconds 60] [--json]
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import customers from '../jobs/customers.ts';
import invoices from '../jobs/invoices.ts';
import transactions from '../jobs/transactions.ts';
import { createLedger } from '../src/budget/ledger/ledger.ts';
import { HOUR, systemClock } from '../src/clock.ts';
import { createLog } from '../src/log.ts';
import { openService } from '../src/service/service.ts';
import type { ServedSource } from '../src/service/status/served-source.ts';
import type { Database } from '../src/warehouse/database/database.ts';
import { fillWarehouse } from './console/fill-warehouse.ts';
import { cpuSeconds, serverCpuSeconds } from './fleet-usage.ts';
import { median } from './support/median.ts';
import { openPostgres } from './support/open-postgres.ts';
import { figure, print, progress } from './support/print.ts';

const { values: given } = parseArgs({
  options: {
    sources: { type: 'string', default: '200' },
    runs: { type: 'string', default: '10000' },
    rows: { type: 'string', default: '20000' },
    seconds: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
  },
});
const { json } = given;
const COUNT = Number(given.sources);
const seconds = Number(given.seconds);
const FIRST = { rows: Number(given.rows), runs: Number(given.runs) };
const TIMES = 15;

const postgres = await openPostgres();
const measured: { page: string; sources: number; firstMs: number; medianMs: number; slowestMs: number }[] = [];
const costs: { page: string; sources: number; sluice: number; postgres: number }[] = [];
try {
  const { database } = postgres;
  const all = Array.from({ length: COUNT }, (_, place) => served(database, `source_${place + 1}`));
  progress(`Filling ${COUNT} schemas.`);
  const shapes = all.map(({ name, schema, jobs }) => ({ name, schema, resources: [...jobs.keys()] }));
  await fillWarehouse(database, shapes.slice(0, 1), FIRST);
  await fillWarehouse(database, shapes.slice(1), { rows: 100, runs: 300 });
  for (const sources of [all.slice(0, 1), all.slice(0, 12), all]) await measure(sources);
} finally {
  await postgres.close();
}
print({
  json,
  document: { pages: measured, costs },
  head: ['page', 'sources', 'first visit', 'first byte, median', 'slowest'],
  rows: measured.map(each => [
    each.page,
    figure(each.sources),
    ...[each.firstMs, each.medianMs, each.slowestMs].map(ms => `${figure(ms)} ms`),
  ]),
});
if (!json)
  print({
    json,
    document: null,
    head: ['page left open', 'sources', 'Sluice, of a core', 'Postgres, of a core'],
    rows: costs.map(each => [
      each.page,
      figure(each.sources),
      ...[each.sluice, each.postgres].map(share => `${figure(100 * share, 2)} %`),
    ]),
  });

function served(database: Database, name: string): ServedSource {
  const limits = { limit: 1000, windowMs: HOUR, timeoutMs: 30_000 };
  const ledger = createLedger({ database, source: name, apiKey: name, ...limits });
  return {
    name,
    schema: name,
    timeZone: 'Europe/Vienna',
    jobs: new Map(Object.entries({ customers, invoices, transactions })),
    scheduled: ['customers', 'invoices', 'transactions'],
    rules: { ...limits, timeZone: 'Europe/Vienna' },
    usage: () => ledger.usage(),
    nextTickAt: now => now + 60_000,
  };
}

const nothing = async () => undefined;

async function measure(sources: readonly ServedSource[]): Promise<void> {
  const service = await openService({
    host: '127.0.0.1',
    port: 0,
    token: null,
    database: postgres.database,
    sources,
    openReader: async () => null,
    editor: {
      ...{ types: [], last: null, reserveOf: () => null, readFields: async () => ({ fields: [], masks: [] }) },
      ...{ addField: nothing, addRule: nothing, setReserve: nothing },
    },
    pending: async () => [],
    pulse: { stalled: () => [] },
    hide: text => text,
    clock: systemClock,
    log: createLog({ level: 'warn' }),
  });
  try {
    for (const page of [
      '/',
      '/sources/source_1',
      '/runs',
      '/runs?state=failed',
      '/data',
      '/data/source_1/invoices',
      '/record/invoices/17',
      '/orders/new?resource=invoices',
      '/sql',
    ]) {
      const times = [];
      for (let time = 0; time < TIMES; time++) times.push(await firstByte(`${service.url}${page}`));
      const [firstMs = 0, ...others] = times;
      measured.push({
        page,
        sources: sources.length,
        firstMs,
        medianMs: median(others),
        slowestMs: Math.max(...others),
      });
    }
    for (const page of ['/', '/sources/source_1'])
      costs.push({ page, sources: sources.length, ...(await openFor(service.url, page)) });
  } finally {
    await service.close();
  }
}

async function firstByte(url: string): Promise<number> {
  const begun = performance.now();
  const response = await fetch(url);
  const took = performance.now() - begun;
  await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}.`);
  return took;
}

/** Shares of a core that a page costs while it is open: it is loaded again as its script does. */
async function openFor(url: string, page: string): Promise<{ sluice: number; postgres: number }> {
  const idle = async (work: () => Promise<void>) => {
    const [sluice, server] = [cpuSeconds(process.pid), serverCpuSeconds(postgres.pid)];
    await work();
    return { sluice: cpuSeconds(process.pid) - sluice, postgres: serverCpuSeconds(postgres.pid) - server };
  };
  const closed = await idle(() => delay(seconds * 1000));
  const open = await idle(async () => {
    for (let second = 0; second < seconds; second += 10) {
      await firstByte(`${url}${page}`);
      await delay(10_000);
    }
  });
  return { sluice: (open.sluice - closed.sluice) / seconds, postgres: (open.postgres - closed.postgres) / seconds };
}
