import { test } from 'vitest';
import { useBuild } from '../cli/run-command.ts';
import { everything } from '../support/long.ts';
import { killAtRandom } from './kill-at-random.ts';

useBuild();

/** For more or other kills: `npm run test:crash -- --kills 200 --seed 7`. */
const KILLS = Number(process.env.KILLS ?? (everything ? 5 : 2));
const SEED = Number(process.env.SEED ?? 20260115);

test(
  `Sluice and Postgres killed ${KILLS} times at random (seed ${SEED}) while the source changes: nothing is lost or doubled`,
  async () => {
    const say = (line: string) => process.env.KILLS && process.stdout.write(`${line}\n`);
    await killAtRandom({ kills: KILLS, seed: SEED, say });
  },
  (120 + 10 * KILLS) * 1000,
);
