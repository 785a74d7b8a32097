import { test } from 'vitest';
import { useBuild } from '../cli/run-command.ts';
import { killDeliveries } from './kill-deliveries.ts';

useBuild();

/** For more or other kills: `npm run test:crash -- --receivers --kills 200 --seed 7`. */
const KILLS = Number(process.env.KILLS ?? 5);
const SEED = Number(process.env.SEED ?? 20260115);

test(
  `the service, receivers and Postgres killed ${KILLS} times at random (seed ${SEED}): each change is delivered, and the log rebuilds the tables`,
  async () => {
    const say = (line: string) => process.env.KILLS && process.stdout.write(`${line}\n`);
    await killDeliveries({ kills: KILLS, seed: SEED, say });
  },
  (120 + 10 * KILLS) * 1000,
);
