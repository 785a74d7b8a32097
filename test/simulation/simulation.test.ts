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

test.concurrent.each(Array.from({ length: 100 }, (_, index) => 1001 + index))('seed %i holds', seed =>
  // Small pages and more lists take longer; `npm run simulate` has more of them.
  play(seed, { pageSize: 'auto', ...(seed % 20 === 0 ? {} : { others: [] }) }),
);

// As they were, before there were other lists.
test.concurrent.each(REGRESSIONS)('seed $seed holds, where once $was', ({ seed, given }) =>
  play(seed, { others: [], ...given }),
);
