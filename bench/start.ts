// Measures how long a command takes to start, compared with an empty Node program, and how long the whole demo takes.
//   npm run build && npx tsx bench/start.ts
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../dist/src/main.js', import.meta.url));
const REPEATS = 9;
// Nothing listens there, so a command ends as soon as it has loaded its code.
const nowhere = {
  SOURCE_URL: 'http://127.0.0.1:9',
  SOURCE_API_KEY: 'key',
  DATABASE_URL: 'postgres://127.0.0.1:9/warehouse',
};

const empty = median(['-e', '0']);
for (const command of ['--version', 'status', 'sync', 'start']) {
  const ms = median([main, command]);
  process.stdout.write(`${command.padEnd(10)} ${ms} ms, ${(ms / empty).toFixed(1)} times an empty program\n`);
}

const home = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
// As root, the server runs as an unprivileged user, who must be able to enter the folder.
chmodSync(home, 0o755);
const began = performance.now();
const { status } = spawnSync(process.execPath, [main, 'demo'], { cwd: home });
process.stdout.write(`demo       ${((performance.now() - began) / 1000).toFixed(1)} s, exit code ${status}\n`);
spawnSync(process.execPath, [main, 'stop-db'], { cwd: home });
rmSync(home, { recursive: true, force: true });

function median(args: string[]): number {
  const times = Array.from({ length: REPEATS }, () => {
    const start = performance.now();
    spawnSync(process.execPath, args, { env: { ...process.env, ...nowhere } });
    return performance.now() - start;
  });
  return Math.round(times.sort((a, b) => a - b)[Math.floor(REPEATS / 2)] as number);
}
