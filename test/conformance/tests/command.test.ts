import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';

describe('the command', () => {
  const COMMAND = fileURLToPath(new URL('../conformance.ts', import.meta.url));
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  // Two folders below the root, as the source: it reads the names of the jobs from there.
  const compiled = join(root, `node_modules/.cache/conformance-${process.pid}.mjs`);
  beforeAll(async () => {
    await build({
      ...{ entryPoints: [COMMAND], outfile: compiled, bundle: true, packages: 'external' },
      ...{ platform: 'node', format: 'esm' },
    });
  });
  afterAll(() => rm(compiled));
  const call = async (given: string[], key?: string) => {
    const { SOURCE_API_KEY: _, ...environment } = process.env;
    const env = { ...environment, ...(key === undefined ? {} : { SOURCE_API_KEY: key }) };
    const parts = [compiled, ...given];
    return promisify(execFile)(process.execPath, parts, { cwd: root, env }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  };

  test('--json prints one document, the key comes from the environment, exit code 0', async () => {
    const sandbox = await openSandbox({ apiKey: 'a-key-to-be-hidden' });
    onTestFinished(() => sandbox.close());
    const { code, stdout, stderr } = await call(['--url', sandbox.url, '--auth', 'query', '--json'], sandbox.apiKey);
    expect(stderr).toBe('');
    expect(stdout).not.toContain('a-key-to-be-hidden');
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, origin: sandbox.url, requests: sandbox.stats.total });
    expect(code).toBe(0);
  });

  test('run as documented, npm prints neither lines of its own nor the key', async () => {
    const sandbox = await openSandbox({ apiKey: 'a-key-to-be-hidden' });
    onTestFinished(() => sandbox.close());
    const doc = await readFile(new URL('../../../docs/conformance.md', import.meta.url), 'utf8');
    const commands = doc.match(/npm run .*conformance.*(?= --url)/g) ?? [];
    expect(new Set(commands)).toEqual(new Set(['npm run --silent conformance --']));
    const { SOURCE_API_KEY: _, ...env } = process.env;
    const parts = [...(commands[0] ?? '').split(' ').slice(1), '--url', sandbox.url, '--key', sandbox.apiKey, '--json'];
    const { stdout, stderr } = await promisify(execFile)('npm', parts, { cwd: root, env });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true });
    expect(stdout + stderr).not.toContain(sandbox.apiKey);
  });

  test('--key with a different SOURCE_API_KEY: neither key is sent', async () => {
    const sandbox = await openSandbox({});
    onTestFinished(() => sandbox.close());
    const { code, stderr } = await call(['--url', sandbox.url, '--key', sandbox.apiKey], 'the-key-of-another');
    expect([code, stderr]).toEqual([2, expect.stringContaining('are different keys')]);
    expect(stderr).not.toContain('the-key-of-another');
    expect(sandbox.stats.total).toBe(0);
  });

  test.for([
    [['--key', 'k'], '--url is missing'],
    [
      ['--url', 'books.example.com', '--key', 'k'],
      'Invalid --url books.example.com; expected an address such as https://',
    ],
    [['--url', 'http://127.0.0.1:1'], 'The key is missing'],
    [['--url', 'http://127.0.0.1:1', '--key', 'k', '--nonsense'], '--nonsense'],
  ] as const)('%s: exit code 2', async ([given, problem]) => {
    const { code, stderr } = await call([...given]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
  });
});
