import { expect, test, vi } from 'vitest';
import { scheduled } from '../support/resources.ts';
import { begin, run, until, useBuild, withInstallation } from './run-command.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
useBuild();

/** A word of the sentence about connections without TLS. */
const WARNING = 'without requiring TLS';

test('start and doctor warn of a database on another machine that is reached without TLS, and of no other', async () => {
  await withInstallation({}, async ({ env }) => {
    // This machine under an address that does not say so.
    const elsewhere = new URL(env.DATABASE_URL as string);
    elsewhere.hostname = '0.0.0.0';
    for (const [url, warned] of [
      [env.DATABASE_URL as string, false],
      [elsewhere.href, true],
    ] as const) {
      const settings = { ...env, ...scheduled('0 0 1 1 *'), DATABASE_URL: url };
      const doctor = await run(['doctor', '--json'], { env: settings });
      const checks = (doctor.json().checks as { check: string }[]).filter(({ check }) => check === 'tls');
      expect(checks).toEqual(
        warned
          ? [
              {
                check: 'tls',
                ok: true,
                found: expect.stringContaining(`0.0.0.0 ${WARNING}`),
                next: expect.stringContaining('sslmode=verify-full'),
              },
            ]
          : [],
      );
      const service = begin(['start'], { env: settings });
      await until(() => service.stderr().includes('sluice is running'));
      service.child.kill('SIGTERM');
      const { code, stderr } = await service.ended;
      const warnings = stderr.split('\n').filter(line => line.includes(WARNING));
      expect([code, warnings.length]).toEqual([0, warned ? 1 : 0]);
      if (warned) expect(JSON.parse(warnings[0] as string)).toMatchObject({ level: 40 });
    }
  });
});
