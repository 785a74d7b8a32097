import { expect, test } from 'vitest';
import { begin, hasTerminals, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

test.runIf(hasTerminals)('status --watch shows the state again and again, until Ctrl-C', async () => {
  await withInstallation({}, async ({ env, sync }) => {
    await sync('users');
    const running = begin(['status', '--watch'], { env, terminal: true, open: true });
    const screens = () => running.stdout().split('Ctrl-C ends it').length - 1;
    await until(() => screens() >= 2);
    running.child.stdin?.write('\x03');
    const { code, stdout } = await running.ended;
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/users[\s\S]*Ctrl-C ends it[\s\S]*users[\s\S]*Ctrl-C ends it/),
    ]);
  });
});

test('status --watch needs a terminal', async () => {
  await withInstallation({}, async ({ env }) => {
    const { code, stderr } = await run(['status', '--watch'], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining('needs a terminal')]);
  });
});
