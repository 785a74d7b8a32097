import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { builtProgram, useBuild, withInstallation } from './run-command.ts';

useBuild();

/** Where the system refuses every write with ENOSPC. */
const FULL = '/dev/full';
const canBeFull = existsSync(FULL);
const LOST = 'The result cannot be written to standard output (ENOSPC).\n';

/** Killed where it does not end. */
function runInto(streams: 'stdout' | 'both', args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const full = openSync(FULL, 'w');
  try {
    const { status, signal, stderr } = spawnSync(process.execPath, [builtProgram(), ...args], {
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', full, streams === 'both' ? full : 'pipe'],
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    return { status, signal, stderr: stderr?.toString() ?? '' };
  } finally {
    closeSync(full);
  }
}

test.runIf(canBeFull)('a command whose standard output is on a full disk ends with 1, and says so once', () => {
  for (const args of [['completion', 'bash'], ['completion', 'bash', '--json'], ['--help']]) {
    const { status, signal, stderr } = runInto('stdout', args);
    expect([args, status, signal]).toEqual([args, 1, null]);
    expect(stderr.split(LOST)).toHaveLength(2);
    expect(stderr).not.toContain('bug in Sluice');
  }
  expect(runInto('both', ['completion', 'bash'])).toEqual({ status: 1, signal: null, stderr: '' });
});

test.runIf(canBeFull)('changes --follow ends once its standard output is full', async () => {
  await withInstallation({}, async ({ env, sync }) => {
    await sync('users');
    const { status, stderr } = runInto('stdout', ['changes', '--follow'], env);
    expect([status, stderr]).toEqual([1, expect.stringContaining(LOST)]);
  });
});
