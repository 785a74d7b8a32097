import { expect, test } from 'vitest';
import { begin, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('while a repair waits for answers that no longer lag, the command, status and the log of a service say why and until when', async () => {
  await withInstallation({}, async ({ sandbox, env: given, sluice, sync }) => {
    await sync('customers');
    const { id } = sandbox.change('customer-new');
    await sync('customers');
    sandbox.remove('customers', id);
    // Nothing waits that long here: the row is gone, and every answer lacks it.
    const env = { ...given, SOURCE_LAG_SECONDS: '3600' };

    const repair = begin(['verify', 'customers', '--repair'], { env });
    await until(() => repair.stderr().includes('answers may not show the latest changes'));
    expect(repair.stderr().split('\n')[0]).toMatch(
      /it waits up to 3 hours until answers no longer lag behind the source \(SOURCE_LAG_SECONDS=3600; a lower value shortens the wait\)\.$/,
    );
    expect(repair.stderr()).toMatch(
      /^customers: answers may not show the latest changes yet; asking again at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, when answers no longer lag \(SOURCE_LAG_SECONDS\)$/m,
    );
    expect((await sluice('status')).stdout).toMatch(
      /^customers +verify +waiting until [-\d]*.?\d\d:\d\d:\d\d: answers may not show the latest changes yet \(SOURCE_LAG_SECONDS\) /m,
    );
    const [run] = (await sluice('status', '--json')).json().runs;
    expect(run).toMatchObject({
      state: 'waiting',
      reason: 'answers may not show the latest changes yet (SOURCE_LAG_SECONDS)',
    });
    expect(Date.parse(run.waitingUntil)).toBeGreaterThan(Date.now());
    repair.child.kill('SIGKILL');
    await repair.ended;

    // Its order is open: the service takes it at once, although the run of the killed process waits.
    const service = begin(['start'], { env });
    await until(() => service.stderr().includes('waiting for answers that no longer lag'));
    const line = service
      .stderr()
      .split('\n')
      .find(each => each.includes('no longer lag'));
    expect(line).toMatch(/customers/);
    expect(line).toMatch(/until/);
    service.child.kill('SIGTERM');
    await service.ended;
  });
});
