import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { withVariable } from '../../src/config/setting-file.ts';
import { long } from '../support/long.ts';
import { begin, hasTerminals, KEY, run, until, useBuild } from './run-command.ts';

useBuild();

async function withSource(fn: (url: string, cwd: string) => Promise<void>): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-init-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const sandbox = await openSandbox({ size: 'small', apiKey: KEY, rateLimit: 0 });
  try {
    await fn(sandbox.url, cwd);
  } finally {
    await sandbox.close();
  }
}

test('init tests address and key and writes them to .env, which only its owner can read', async () => {
  await withSource(async (url, cwd) => {
    writeFileSync(join(cwd, '.env'), '# ours\nSCHEDULE_USERS=off\nSOURCE_URL=\n', { mode: 0o644 });
    const { code, stdout } = await run(['init', '--url', url], { cwd, input: `${KEY}\n` });
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/key +accepted; \/api\/v2\/customers has \d+ records\n\nWritten to .*\. Next: sluice sync/),
    ]);
    const file = join(cwd, '.env');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toMatch(/^# ours\nSCHEDULE_USERS=off\nSOURCE_URL=http/);
    expect(parseEnv(readFileSync(file, 'utf8'))).toMatchObject({ SOURCE_URL: url, SOURCE_API_KEY: KEY });
    const other = await run(['init', '--url', 'https://books.example.com'], {
      cwd,
      input: 'another-key-of-20-letters',
    });
    expect([other.code, other.stderr]).toEqual([
      2,
      expect.stringMatching(/^\.env sets another SOURCE_URL already\.\n.*--force/),
    ]);
  });
});

test('of a name that stands twice in .env, init replaces the line that holds, and keeps a file with a key to its owner', async () => {
  await withSource(async (url, cwd) => {
    const file = join(cwd, '.env');
    writeFileSync(file, 'SOURCE_API_KEY=first\nSOURCE_API_KEY=second\n', { mode: 0o644 });
    const { code } = await run(['init', '--force', '--url', url], { cwd, input: KEY });
    expect(code).toBe(0);
    expect(parseEnv(readFileSync(file, 'utf8'))).toEqual({ SOURCE_URL: url, SOURCE_API_KEY: KEY });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

test('a wrong address or key is said, and nothing is written', async () => {
  await withSource(async (url, cwd) => {
    const wrong = await run(['init', '--url', url], { cwd, input: 'not-the-key-of-this-source' });
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/key.* Nothing was written\./)]);
    expect(wrong.stderr).not.toContain('not-the-key-of-this-source');
    const odd = await run(['init', '--url', 'books.example.com'], { cwd, input: KEY });
    expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining('SOURCE_URL')]);
    const none = await run(['init'], { cwd, input: KEY });
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('--url is missing')]);
    const empty = await run(['init', '--url', url], { cwd });
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('The key is missing')]);
    expect(() => statSync(join(cwd, '.env'))).toThrow('ENOENT');
  });
});

long(
  'beside a sources file, init tests the source that was typed, and says that the file takes precedence',
  async () => {
    const other = await openSandbox({ size: 'small', apiKey: 'key-of-graz', rateLimit: 0 });
    await withSource(async (url, cwd) => {
      const graz = { name: 'graz', url: other.url, api_key_from: 'SOURCE_GRAZ_KEY' };
      writeFileSync(join(cwd, 'sources.json'), JSON.stringify([graz]));
      writeFileSync(join(cwd, '.env'), 'SOURCE_GRAZ_KEY=key-of-graz\n', { mode: 0o600 });
      const wrong = await run(['init', '--url', url], { cwd, input: 'not-the-key-of-this-source' });
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/key.* Nothing was written\./)]);
      const { code, stderr } = await run(['init', '--url', url], { cwd, input: KEY });
      expect([code, stderr]).toEqual([
        0,
        expect.stringMatching(/^sources\.json describes the sources and takes precedence/),
      ]);
      expect(other.stats.total).toBe(0);
      expect(parseEnv(readFileSync(join(cwd, '.env'), 'utf8'))).toMatchObject({ SOURCE_URL: url });
    });
    await other.close();
  },
);

test.runIf(hasTerminals)('on a terminal it asks, and does not show the key', async () => {
  await withSource(async (url, cwd) => {
    const running = begin(['init'], { cwd, terminal: true, open: true });
    await until(() => running.stdout().includes('Address of the installation'));
    running.child.stdin?.write(`${url}\r`);
    await until(() => running.stdout().includes('API key'));
    running.child.stdin?.write(`${KEY}\r`);
    const { code, stdout } = await running.ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining('Next: sluice sync')]);
    expect(parseEnv(readFileSync(join(cwd, '.env'), 'utf8'))).toMatchObject({ SOURCE_URL: url, SOURCE_API_KEY: KEY });
  });
});

test('whatever a key holds, Node reads from .env what was written', () => {
  const printable = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map(code => String.fromCharCode(code)),
    minLength: 1,
  });
  fc.assert(
    fc.property(
      printable,
      fc.constantFrom(
        '',
        'A=1\n',
        '# SOURCE_API_KEY=\nexport SOURCE_API_KEY=old\nB=2\n',
        'SOURCE_API_KEY=1\nSOURCE_API_KEY=2\n',
      ),
      (key, before) => {
        let text: string;
        try {
          text = withVariable(before, 'SOURCE_API_KEY', key) as string;
        } catch (error) {
          expect((error as Error).message).toContain('quotes');
          return;
        }
        const { SOURCE_API_KEY, ...others } = parseEnv(text);
        expect(SOURCE_API_KEY).toBe(key);
        const { SOURCE_API_KEY: _old, ...kept } = parseEnv(before);
        expect(others).toEqual(kept);
      },
    ),
  );
});
