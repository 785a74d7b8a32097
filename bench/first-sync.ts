// Measures the first sync of a source without a request limit and the `sluice verify` after it: time and peak memory,
// by rows per page.
//   npm run build && npx tsx bench/first-sync.ts [small|medium|large|extreme]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openEmbedded, stopEmbedded } from '../src/embedded-postgres/embedded-server.ts';
import { createLog } from '../src/log.ts';
import { openDatabase } from '../src/warehouse/database/database.ts';

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
    const env = {
      ...process.env,
      SOURCE_URL: source,
      SOURCE_API_KEY: 'sandbox-key',
      SOURCE_RATE_LIMIT: '1000000',
      DATABASE_URL: url,
    };
    const sync = await run(['sync'], env);
    const database = await openDatabase({ url, applicationName: 'bench', log });
    const { rows } = await database.query<{ rows: number; items: number }>(
      `select ((select count(*) from warehouse.customers) + (select count(*) from warehouse.invoices)
         + (select count(*) from warehouse.transactions))::int as rows, (select count(*)::int from warehouse.invoice_items) as items`,
    );
    await database.close();
    const { rows: stored = 0, items } = rows[0] ?? {};
    const rowsPerSecond = Math.round((stored / sync.ms) * 1000);
    report(page, 'sync', sync, { rows: stored, items, rowsPerSecond });
    const verify = await run(['verify'], env);
    report(page, 'verify', verify, { equal: (verify.document as { equal: boolean }).equal });
  } finally {
    sandbox.kill();
    await stopEmbedded(home);
    await rm(home, { recursive: true, force: true });
  }
}

function report(page: string, what: string, measured: Awaited<ReturnType<typeof run>>, more: object): void {
  const { exit, ms, peakKb, document } = measured;
  const { resources } = document as { resources: { requests: number }[] };
  const requests = resources.reduce((sum, each) => sum + each.requests, 0);
  const seconds = Math.round(ms / 100) / 10;
  const peakMb = Math.round(peakKb / 1024);
  console.log(JSON.stringify({ size, rowsPerPage: Number(page), what, exit, requests, seconds, peakMb, ...more }));
}

async function run(args: string[], env: NodeJS.ProcessEnv) {
  const started = performance.now();
  const child = spawn(process.execPath, [main, ...args, '--json'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', part => {
    text += part;
  });
  let peakKb = 0;
  const watch = setInterval(() => {
    const kb = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)]).toString());
    peakKb = Math.max(peakKb, kb);
  }, 250);
  child.on('exit', () => clearInterval(watch));
  const [exit] = (await once(child, 'close')) as [number];
  return { exit, ms: performance.now() - started, peakKb, document: JSON.parse(text) as unknown };
}
