import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The folders with the slowest files. They start first, so that no slow file runs alone at the end. */
const SLOWEST_FIRST = ['/test/processes/', '/test/cli/', '/test/simulation/', '/test/engine/', '/test/service/'];

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = SLOWEST_FIRST.findIndex(folder => moduleId.includes(folder));
      return at < 0 ? SLOWEST_FIRST.length : at;
    };
    // Within a folder the order of Vitest: what failed or took longest in the last run comes first.
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // They have configurations of their own.
    exclude: ['test/browser/**', ...(process.env.SLUICE_TESTS === 'all' ? [] : ['**/*.long.test.ts'])],
    globalSetup: ['test/support/postgres.ts'],
    setupFiles: ['test/support/properties.ts'],
    // A plain date must not depend on where the tests run; in a western zone a wrong conversion loses a day.
    env: { TZ: 'America/Los_Angeles' },
    // On a busy machine everything takes several times as long.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 30_000,
    // No test changes a module's state: a worker that loads the modules once for all its files saves half a second a file.
    isolate: false,
    // One more than the two cores of a small machine: process tests wait for other processes. A fourth costs more than it gains.
    maxWorkers: 3,
    // Seeds of the simulation that one worker plays at the same time. They wait for the database most of the time.
    maxConcurrency: 3,
    sequence: { sequencer: SlowestFirst },
  },
});
