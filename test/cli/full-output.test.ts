import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { builtProgram, useBuild, withInstallation } from './run-command.ts';

useBuild();

/** Where the system refuses every write with ENOSPC. */
const FULL = '/dev/full';
const canBeFull = existsSync(FULL);
const LOST = 'The result cannot be written to standard output (ENOSPC).\n';

/** Killed where it does not end. */
async function runInto(
  streams: 'stdout' | 'both',
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const full = openSync(FULL, 'w');
  const child = spawn(process.execPath, [builtProgram(), ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', full, streams === 'both' ? full : 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  closeSync(full);
  const [stderr, [status]] = await Promise.all([child.stderr ? text(child.stderr) : '', once(child, 'close')]);
  return { status: status as number | null, stderr };
}

test.runIf(canBeFull)('a command whose standard output is on a full disk ends with 1, and says so once', async () => {
  const cases = [['completion', 'bash'], ['completion', 'bash', '--json'], ['--help']];
  const ended = await Promise.all(cases.map(args => runInto('stdout', args)));
  for (const { status, stderr } of ended) {
    expect([status, stderr.split(LOST)]).toEqual([1, ['', expect.any(String)]]);
    expect(stderr).not.toContain('bug in Sluice');
  }
  expect(await runInto('both', ['completion', 'bash'])).toEqual({ status: 1, stderr: '' });
});

test.runIf(canBeFull)('changes --follow ends once its standard output is full', async () => {
  await withInstallation({}, async ({ env, sync }) => {
    await sync('users');
    const { status, stderr } = await runInto('stdout', ['changes', '--follow'], env);
    expect([status, stderr]).toEqual([1, expect.stringContaining(LOST)]);
  });
});

test.runIf(canBeFull)('a result of many rows ends once its file cannot be written', async () => {
  await withInstallation({}, async ({ sluice }) => {
    const query = 'select g from generate_series(1, 1000) g';
    for (const command of ['sql', 'export']) {
      const { code, stderr } = await sluice(command, query, '--format', 'csv', '--out', FULL);
      expect([code, stderr]).toEqual([2, expect.stringContaining('/dev/full cannot be written (ENOSPC).')]);
    }
  });
});
