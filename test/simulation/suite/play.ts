import { expect, inject, test, vi } from 'vitest';
import { some } from '../../support/long.ts';
import { type Given, replay } from '../plan/plan.ts';
import { runSeed } from '../play/run-seed.ts';
import { givenFor, SEEDS } from './seeds.ts';

/** How many files share the seeds, so that every worker of the test run has some to play. */
const FILES = 4;

/** Every fourth seed, from the `file`th on (1 to 4). */
export function testSeeds(file: number): void {
  allowSlowSeeds();
  test.concurrent.each(share(some(SEEDS, FILES), file))('seed %i ends with warehouse and source equal', seed =>
    play(seed, givenFor(seed)),
  );
}

const share = <T>(all: readonly T[], file: number): T[] => all.filter((_, index) => index % FILES === file - 1);

/** A slow seed that shares the processor with others may take more than a minute. */
function allowSlowSeeds(): void {
  vi.setConfig({ testTimeout: 300_000 });
}

async function play(seed: number, given: Given): Promise<void> {
  const server = { socketUrl: inject('postgresSocketUrl'), template: inject('postgresTemplate') };
  const { problems } = await runSeed(server, seed, given);
  expect(problems, replay(seed, given)).toEqual([]);
}
