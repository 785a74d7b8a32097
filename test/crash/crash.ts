import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SECOND } from '../../src/clock.ts';

/**
 * `npm run test:crash -- [--receivers] [--kills 50] [--seed 1]`: real processes, Sluice's and the Postgres server's, killed at random
 * moments while the source changes, and in the end compared with it row by row. The seed decides the source, its changes, the commands
 * and after how many requests they are hit; how far each process is by then is the machine's.
 *
 * With `--receivers`, the service and programs that changes are delivered to are killed, too; in the end, the log of changes and what was
 * delivered are compared with the tables, and it tells how long deliveries took.
 */
const { values } = parseArgs({
  options: {
    receivers: { type: 'boolean', default: false },
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
  },
});
const kills = wholeNumber('--kills', values.kills);
const seed = wholeNumber('--seed', values.seed);
const replay = `npm run test:crash -- ${values.receivers ? '--receivers ' : ''}--kills ${kills} --seed ${seed}`;
const begun = performance.now();

process.stdout.write(`${kills} kills, seed ${seed}\n`);
const root = fileURLToPath(new URL('../..', import.meta.url));
const suite = values.receivers ? 'delivery-kills.long' : 'kills';
const vitest = [
  'node_modules/vitest/vitest.mjs',
  'run',
  `test/processes/${suite}.test.ts`,
  '--disable-console-intercept',
];
spawn(process.execPath, vitest, {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, SLUICE_TESTS: 'all', KILLS: String(kills), SEED: String(seed) },
}).on('close', code => {
  const seconds = ((performance.now() - begun) / SECOND).toFixed(0);
  process.stdout.write(
    `${code === 0 ? 'Nothing was lost or doubled' : 'Failed'} in ${seconds} s. The same again: ${replay}\n`,
  );
  process.exitCode = code ?? 1;
});

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`${name} must be a whole number from 1, not "${text}".`);
  return Number(text);
}
