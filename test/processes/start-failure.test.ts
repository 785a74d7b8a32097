import { expect, test, vi } from 'vitest';
import { begin, useBuild, withInstallation } from '../commands/run.ts';

useBuild();
vi.setConfig({ testTimeout: 60_000 });

test('a service that cannot begin says why and ends', async () => {
  await withInstallation({}, async ({ env }) => {
    // Five fields, but no such minute.
    const { code, stderr } = await begin(['start'], { env: { ...env, SCHEDULE_INVOICES: '61 * * * *' } }).ended;
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('The schedule of invoices (source main) is "61 * * * *".'),
    ]);
  });
});
