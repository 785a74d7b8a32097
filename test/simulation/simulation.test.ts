import { expect, inject, test, vi } from 'vitest';
import { type Given, replay } from './plan.ts';
import { REGRESSIONS } from './regressions.ts';
import { runSeed } from './run-seed.ts';

// A slow seed beside others may take more than a minute.
vi.setConfig({ testTimeout: 300_000 });

const server = () => ({ url: inject('postgresUrl'), template: inject('postgresTemplate') });

async function play(seed: number, given: Given = {}): Promise<void> {
  const { problems } = await runSeed(server(), seed, given);
  expect(problems, replay(seed, given)).toEqual([]);
}

/** They take longest by far, for many reasons; `npm run simulate` plays them. */
const DEAR = new Set([1008, 1014, 1035, 1042, 1057, 1089, 1092, 1095]);
const SEEDS = Array.from({ length: 100 + DEAR.size }, (_, index) => 1001 + index).filter(seed => !DEAR.has(seed));

test.concurrent.each(SEEDS)('seed %i holds', seed =>
  // Small pages and more lists take longer; `npm run simulate` has more of them.
  play(seed, { pageSize: 'auto', ...(seed % 20 === 0 ? {} : { others: [] }) }),
);

test.concurrent.each(REGRESSIONS.filter(({ dear }) => !dear))('seed $seed holds, where once $was', ({ seed, given }) =>
  play(seed, given),
);
