import { defineConfig } from 'vitest/config';

/** `npm run test:browser`: the console in a real browser. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    // The browser first: without it no server needs to start.
    globalSetup: ['test/browser/require-chromium.ts', 'test/support/postgres.ts'],
    env: { TZ: 'America/Los_Angeles' },
    testTimeout: 180_000,
    hookTimeout: 180_000,
    isolate: false,
    // Browser, service and Postgres keep two cores busy with one file.
    maxWorkers: 2,
  },
});
