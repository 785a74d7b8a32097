// First sync of a source without a request limit: rows per second and peak memory of the syncing process, by rows a page.
//   npm run build && npx tsx bench/first-sync.ts [small|medium|large|extreme]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '../src/log.ts';
import { openDatabase } from '../src/warehouse/database.ts';
import { openEmbedded, stopEmbedded } from '../src/warehouse/embedded.ts';

const size = process.argv[2] ?? 'extreme';
const main = fileURLToPath(new URL('../dist/src/main.js', import.meta.url));
const log = createLog({ level: 'silent', secrets: [] });

for (const page of ['1000', '100']) await measure(page);

async function measure(page: string): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const sandbox = spawn(
    process.execPath,
    [main, 'sandbox', '--json', '--size', size, '--rate-limit', '0', '--variant', `limit-max=${page}`],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  try {
    const [told] = (await once(sandbox.stdout, 'data')) as [Buffer];
    const { url: source } = JSON.parse(told.toString()) as { url: string };
    const { url } = await openEmbedded({ dataDir: home, log });
    const started = performance.now();
    const sync = spawn(process.execPath, [main, 'sync', '--json'], {
      env: {
        ...process.env,
        SOURCE_URL: source,
        SOURCE_API_KEY: 'sandbox-key',
        SOURCE_RATE_LIMIT: '1000000',
        DATABASE_URL: url,
      },
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    let peakKb = 0;
    const watch = setInterval(() => {
      const kb = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(sync.pid)]).toString());
      peakKb = Math.max(peakKb, kb);
    }, 500);
    const [exit] = (await once(sync, 'exit')) as [number];
    clearInterval(watch);
    const seconds = (performance.now() - started) / 1000;
    const database = await openDatabase({ url, applicationName: 'bench', log });
    const { rows } = await database.query<{ rows: string; items: string }>(
      `select (select count(*) from warehouse.customers) + (select count(*) from warehouse.invoices)
         + (select count(*) from warehouse.transactions) as rows, (select count(*) from warehouse.invoice_items) as items`,
    );
    await database.close();
    const total = Number(rows[0]?.rows);
    console.log(
      JSON.stringify({
        size,
        rowsPerPage: Number(page),
        exit,
        rows: total,
        items: Number(rows[0]?.items),
        seconds: Math.round(seconds),
        rowsPerSecond: Math.round(total / seconds),
        peakMb: Math.round(peakKb / 1024),
      }),
    );
  } finally {
    sandbox.kill();
    await stopEmbedded(home);
    await rm(home, { recursive: true, force: true });
  }
}
