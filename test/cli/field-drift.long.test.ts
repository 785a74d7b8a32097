import { expect, test } from 'vitest';
import { useBuild, withInstallation } from './run-command.ts';

useBuild();

test('a renamed field is told as what it is by status and doctor, in words and as JSON', async () => {
  await withInstallation({}, async ({ sandbox, sluice, sync }) => {
    await sync('invoices');
    sandbox.setBadDay({ kind: 'renamed', resource: 'invoices', field: 'amount' });
    expect((await sluice('sync', 'invoices')).code).toBe(1);

    const { drift } = (await sluice('status', '--json')).json();
    const since = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string;
    const query = "select _extra->>'amount_v2' from invoices";
    expect(drift).toEqual([
      {
        resource: 'invoices',
        field: 'amount_v2',
        kind: 'new',
        since,
        meaning: `Kept in _extra: ${query}. To give it a column, add it to jobs/invoices.ts.`,
      },
      {
        resource: 'invoices',
        field: 'amount',
        kind: 'vanished',
        since,
        meaning: expect.stringContaining('What is stored stays'),
      },
    ]);
    const status = await sluice('status');
    expect([status.code, status.stdout]).toEqual([
      0,
      expect.stringMatching(/^invoices\.amount_v2: new field since .*\. Kept in _extra: .*\.$/m),
    ]);
    expect(status.stdout).toMatch(/^invoices\.amount: vanished field since .* stays until the loss is accepted\.$/m);
    const doctor = await sluice('doctor', '--json');
    expect(doctor.code).toBe(0);
    expect(doctor.json().checks).toContainEqual({
      check: 'fields',
      ok: true,
      found: expect.stringContaining('invoices.amount_v2: new field since') as string,
      next: expect.stringContaining(query) as string,
    });
  });
});
