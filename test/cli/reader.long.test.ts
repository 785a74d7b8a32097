import { expect, test } from 'vitest';
import { begin, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('status names the command that reads, and shows its run as stopped as soon as its process is killed', async () => {
  await withInstallation({ latencyMs: 20 }, async ({ sandbox, env, sluice }) => {
    const sync = begin(['sync', 'transactions'], { env });
    await until(() => sandbox.stats.total >= 4);
    // Its next answer never comes, so it is still reading.
    sandbox.failNext('hang', 100);
    const reading = await sluice('status');
    expect(reading.stdout).toMatch(/^Service +none; sluice sync is reading this source$/m);
    expect(reading.stdout).toMatch(/^transactions +sync +running /m);
    expect((await sluice('status', '--json')).json()).toMatchObject({
      service: false,
      reader: 'sync',
      runs: [{ state: 'running' }],
      orders: [{ state: 'running' }],
    });
    sync.child.kill('SIGKILL');
    await sync.ended;

    await until(async () => (await sluice('status', '--json')).json().reader === null);
    const killed = await sluice('status');
    expect(killed.stdout).toMatch(/^Service +not running \(start it: sluice start\)$/m);
    expect(killed.stdout).toMatch(/^transactions +sync +stopped: its process ended /m);
    expect((await sluice('status', '--json')).json()).toMatchObject({
      runs: [{ state: 'stopped' }],
      orders: [{ state: 'waiting' }],
    });
    expect(killed.stdout).not.toContain('at least 0');
  });
});
