// `sluice verify` of a warehouse that equals its source: time, requests and peak memory of the verifying process, without a request limit.
//   npm run build && npx tsx bench/verify.ts [small|medium|large|extreme]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '../src/log.ts';
import { openEmbedded, stopEmbedded } from '../src/warehouse/embedded.ts';

const size = process.argv[2] ?? 'large';
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
    await run(['sync'], env);
    const verified = await run(['verify'], env);
    const { equal, resources } = verified.document as { equal: boolean; resources: { requests: number }[] };
    console.log(
      JSON.stringify({
        size,
        rowsPerPage: Number(page),
        exit: verified.exit,
        equal,
        requests: resources.reduce((sum, each) => sum + each.requests, 0),
        seconds: Math.round(verified.seconds * 10) / 10,
        peakMb: Math.round(verified.peakKb / 1024),
      }),
    );
  } finally {
    sandbox.kill();
    await stopEmbedded(home);
    await rm(home, { recursive: true, force: true });
  }
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
  return { exit, seconds: (performance.now() - started) / 1000, peakKb, document: JSON.parse(text) as unknown };
}
