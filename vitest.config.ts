import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The folders whose tests take longest: begun first, none of them runs on alone at the end. */
const SLOW = ['/test/engine/', '/test/processes/', '/test/commands/', '/test/warehouse/'];

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = (file: TestSpecification) => SLOW.some(folder => file.moduleId.includes(folder));
    const sorted = await super.sort(files);
    return [...sorted.filter(isSlow), ...sorted.filter(file => !isSlow(file))];
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
    maxWorkers: 2,
    sequence: { sequencer: SlowFirst },
  },
});
