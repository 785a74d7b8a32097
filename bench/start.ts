// How long people wait for a command to begin, against an empty Node program; and for the demo, as a whole.
//   npm run build && npx tsx bench/start.ts
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../dist/src/main.js', import.meta.url));
const REPEATS = 9;
// Nothing listens there, so a command ends once it has loaded all that it needs.
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
// Run as root, the server belongs to an unprivileged user, who has to be able to enter.
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
