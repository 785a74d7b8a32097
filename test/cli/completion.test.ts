import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run, useBuild } from './run-command.ts';

useBuild();

test('bash completes commands, their options, subcommands and resources', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-completion-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { code, stdout } = await run(['completion', 'bash']);
  expect(code).toBe(0);
  const script = join(folder, 'sluice.bash');
  writeFileSync(script, stdout);
  const completed = (...words: string[]) =>
    execFileSync(
      'bash',
      [
        '-c',
        // `declare` prints them as [0]="start" [1]="status".
        'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; declare -p COMPREPLY',
        script,
        ...words,
      ],
      { encoding: 'utf8' },
    ).match(/(?<=\]=")[^"]*/g);
  expect(completed('sluice', 'sta')).toEqual(['start', 'status']);
  expect(completed('sluice', 'sync', 'inv')).toEqual(['invoices']);
  expect(completed('sluice', 'backfill', 'p')).toEqual(expect.arrayContaining(['pause', 'products']));
  expect(completed('sluice', 'backfill', '--f')).toEqual(['--from']);
});

test('zsh and fish get every command with its description', async () => {
  for (const shell of ['zsh', 'fish']) {
    const { code, stdout } = await run(['completion', shell]);
    expect(code).toBe(0);
    for (const text of ['backfill', 'accept-deletes', 'Run a read-only query', 'invoices'])
      expect(stdout, shell).toContain(text);
  }
  const { code, stderr } = await run(['completion', 'tcsh']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('bash, zsh, fish')]);
});
