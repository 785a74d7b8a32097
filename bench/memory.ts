// Measures the peak memory of `sluice sync` by the number of records, at 1000 rows a page, and for a list that arrives as one
// body. Linux only.
//   npm run build && npx tsx bench/memory.ts [--records 100000,1000000,5000000] [--body 500] [--runs 3] [--json]
// Each figure is the median of `--runs`. `--body` is the size of the one body in MB; 0 leaves it out. 5,000,000 records take
// 10 GB of disk in the temporary folder.
import { parseArgs } from 'node:util';
import { serveOneBody } from './memory/serve-one-body.ts';
import { medians } from './support/median.ts';
import { openPostgres } from './support/open-postgres.ts';
import { countsOf, openSource, type SourceAddress } from './support/open-source.ts';
import { numbers } from './support/options.ts';
import { figure, print, progress } from './support/print.ts';
import { environmentOf, runSluice } from './support/run-sluice.ts';

const { values: given } = parseArgs({
  options: {
    records: { type: 'string', default: '100000,1000000,5000000' },
    body: { type: 'string', default: '500' },
    runs: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});

interface Load {
  readonly records: number;
  readonly stored: number;
  readonly seconds: number;
  readonly peakMb: number;
}

const BASELINE = 'sluice migrate (the baseline)';
const NOWHERE = { url: 'http://127.0.0.1:9', apiKey: 'key' };

const lines: { what: string; medians: Load; runs: Load[] }[] = [];
await measure(BASELINE, migrate);
for (const records of numbers(given.records))
  await measure(`${figure(records)} records, 1000 a page`, () => loadPages(records));
const megabytes = Number(given.body);
if (megabytes > 0) await measure(`one body of ${megabytes} MB`, () => loadBody(megabytes));
print({
  json: given.json,
  document: lines,
  head: ['source', 'records', 'stored', 'seconds', 'peak memory, MB'],
  rows: lines.map(({ what, medians: { records, stored, seconds, peakMb } }) => [
    what,
    figure(records),
    records === 0 ? '' : stored === records ? 'all' : stored === 0 ? 'not stored' : figure(stored),
    figure(seconds, 1),
    figure(peakMb),
  ]),
});

async function measure(what: string, load: () => Promise<Load>): Promise<void> {
  const runs: Load[] = [];
  for (let run = 1; run <= Number(given.runs); run++) {
    runs.push(await load());
    progress(`${what}, run ${run}: ${figure(runs.at(-1)?.peakMb ?? 0)} MB`);
  }
  lines.push({ what, medians: medians(runs), runs });
}

async function migrate(): Promise<Load> {
  const postgres = await openPostgres();
  try {
    const { ms, peakMb } = await runSluice(['migrate'], environmentOf(NOWHERE, postgres.url));
    return { records: 0, stored: 0, seconds: ms / 1000, peakMb };
  } finally {
    await postgres.close();
  }
}

async function loadPages(records: number): Promise<Load> {
  const source = await openSource({ size: countsOf(records), page: '1000' });
  try {
    return await load(source, ['customers', 'invoices', 'transactions'], records);
  } finally {
    await source.close();
  }
}

async function loadBody(megabytes: number): Promise<Load> {
  const source = await serveOneBody(megabytes);
  try {
    return await load(source, ['customers'], source.records);
  } finally {
    await source.close();
  }
}

async function load(source: SourceAddress, resources: readonly string[], records: number): Promise<Load> {
  const postgres = await openPostgres();
  try {
    const environment = environmentOf(source, postgres.url, { SOURCE_TIMEOUT_SECONDS: '600' });
    const run = await runSluice(['sync', ...resources], environment);
    const counts = resources.map(resource => `(select count(*) from warehouse.${resource})`).join(' + ');
    const { rows } = await postgres.database.query<{ stored: number }>(`select (${counts})::int as stored`);
    return { records, stored: rows[0]?.stored ?? 0, seconds: run.ms / 1000, peakMb: run.peakMb };
  } finally {
    await postgres.close();
  }
}
