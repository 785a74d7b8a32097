import { expect, test } from 'vitest';
import { useBuild, withInstallation } from './run-command.ts';

useBuild();

test('a command, option, resource, source or table that is mistyped is answered with the nearest one', async () => {
  await withInstallation({}, async ({ sluice }) => {
    const told = async (...args: string[]) => (await sluice(...args)).stderr;
    expect(await told('sycn')).toMatch(/^Unknown command 'sycn' \(did you mean "sync"\?\)\.$/m);
    expect(await told('status', '--wacth')).toMatch(/^Unknown option '--wacth' \(did you mean "--watch"\?\)\.$/m);
    expect(await told('sync', 'invoces')).toMatch(/^Unknown resource "invoces" \(did you mean "invoices"\?\)\.$/m);
    expect(await told('sync', '--source', 'mian')).toMatch(/^Unknown source "mian" \(did you mean "main"\?\)\.$/m);
    expect(await told('sql', 'select * from invoces')).toContain('Did you mean "invoices"? The schemas warehouse');
    expect(await told('sql', 'select * from sluice.covrage')).toContain('Did you mean "sluice.coverage"?');
    expect(await told('sql', 'select * from of_another_kind')).not.toContain('Did you mean');
    expect(await told('frobnicate')).toMatch(/^Unknown command 'frobnicate'\.$/m);
  });
});
