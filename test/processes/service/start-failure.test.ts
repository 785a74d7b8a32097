import { expect, test, vi } from 'vitest';
import { begin, useBuild, withInstallation } from '../../cli/run-command.ts';

useBuild();
vi.setConfig({ testTimeout: 60_000 });

test('a service that cannot start reports why and ends', async () => {
  await withInstallation({}, async ({ env }) => {
    // Five fields, but minute 61 does not exist.
    const { code, stderr } = await begin(['start'], { env: { ...env, SCHEDULE_INVOICES: '61 * * * *' } }).ended;
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('The schedule of invoices (source main) is "61 * * * *".'),
    ]);
  });
});
