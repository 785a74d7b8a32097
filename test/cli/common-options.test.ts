import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { long } from '../support/long.ts';
import { hasTerminals, run, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('--help shows examples and needs no settings', async () => {
  const commands = ['sync', 'backfill pause', 'sql'];
  const shown = await Promise.all(commands.map(command => run([...command.split(' '), '--help'])));
  for (const [index, { code, stdout, stderr }] of shown.entries()) {
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`Examples:\n  sluice ${commands[index]}`);
  }
});

test('help of a command is its --help, and of a word that is none an error', async () => {
  const shown = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(args);
    return [code, stdout || stderr];
  };
  expect(await shown('help')).toEqual(await shown('--help'));
  expect(await shown('help', 'fields', 'add')).toEqual(await shown('fields', 'add', '--help'));
  for (const args of [
    ['help', 'sycn'],
    ['sycn', '--help'],
  ])
    expect(await shown(...args)).toEqual([
      2,
      expect.stringMatching(/^Unknown command 'sycn' \(did you mean "sync"\?\)\./),
    ]);
});

test('--version prints the version of package.json', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(await run(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
});

long('FORCE_COLOR switches colours on or off; NO_COLOR overrides it', async () => {
  await withInstallation({}, async ({ env }) => {
    const colored = async (more: Record<string, string>) =>
      (await run(['status'], { env: { ...env, ...more } })).stdout.includes('\u001b[');
    expect(await colored({})).toBe(false);
    expect(await colored({ FORCE_COLOR: '1' })).toBe(true);
    expect(await colored({ FORCE_COLOR: '0' })).toBe(false);
    expect(await colored({ FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(false);
  });
});

test.skipIf(!hasTerminals)(
  'on a terminal --no-color, NO_COLOR and FORCE_COLOR=0 also remove the colours of the log',
  async () => {
    await withInstallation({}, async ({ env }) => {
      const logged = async (more: Record<string, string>, ...flags: string[]) => {
        const settings = { ...env, TERM: 'xterm', LOG_LEVEL: 'debug', ...more };
        const { code, stdout } = await run(['sync', 'customers', ...flags], { env: settings, terminal: true });
        expect([code, stdout]).toEqual([0, expect.stringContaining('DEBUG')]);
        return stdout;
      };
      const colors = /\[[\d;]*[1-9]m/;
      expect(await logged({})).toMatch(colors);
      for (const plain of [
        await logged({}, '--no-color'),
        await logged({ NO_COLOR: '1' }),
        await logged({ FORCE_COLOR: '0' }),
      ])
        expect(plain).not.toMatch(colors);
    });
  },
);
