import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The folders whose tests take longest: begun first, none of them runs on alone at the end. */
const SLOW = [
  '/test/simulation/',
  '/test/engine/',
  '/test/processes/',
  '/test/cli/',
  '/test/warehouse/',
  '/test/embedded-postgres/',
];

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = (file: TestSpecification) => {
      const at = SLOW.findIndex(folder => file.moduleId.includes(folder));
      // The simulation, which is one long file, before all; the others as the last run found them.
      return at < 0 ? 2 : Math.min(at, 1);
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
    setupFiles: ['test/support/properties.ts'],
    // A plain date must not depend on where the tests run; a western zone is where it would lose a day.
    env: { TZ: 'America/Los_Angeles' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    // One more than a small machine has cores: many tests wait for processes and clocks for most of their time.
    maxWorkers: 3,
    // Seeds of the simulation, which wait for most of their time.
    maxConcurrency: 3,
    sequence: { sequencer: SlowFirst },
  },
});
