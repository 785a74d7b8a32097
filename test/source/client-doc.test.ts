import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { long } from '../support/long.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const doc = await readFile(join(root, 'docs/client.md'), 'utf8');

/** Headings that name an endpoint, and every block of code with the heading it stands under. */
const headings = [...doc.matchAll(/^#+ (.+)$/gm)].map(match => ({ at: match.index, heading: match[1] as string }));
const [setUp, ...examples] = [...doc.matchAll(/```ts\n(.*?)```/gs)].map(match => ({
  code: match[1] as string,
  heading: headings.findLast(({ at }) => at < match.index)?.heading ?? '',
}));
const endpoints = headings.map(({ heading }) => heading).filter(heading => /^(GET|POST|PUT|DELETE) /.test(heading));

/** The endpoints of the API's document, and the three lists for which it shows no operation. */
const DOCUMENTED = [
  ...['customers', 'invoices', 'transactions', 'products', 'quotes', 'tickets', 'users'].flatMap(list => [
    `GET /api/v2/${list}`,
    `POST /api/v2/${list}`,
  ]),
  ...['GET', 'PUT', 'DELETE'].map(method => `${method} /api/v2/customers/{id}`),
  ...['leads', 'webhooks', 'batch/customers'].map(path => `POST /api/v2/${path}`),
  ...['reports/financial', 'orders', 'suppliers', 'purchases'].map(path => `GET /api/v2/${path}`),
];

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-client-'));
});
afterAll(() => rm(folder, { recursive: true }));

it('docs/client.md has an example for each endpoint', () => {
  expect([...endpoints].sort()).toEqual([...DOCUMENTED].sort());
  expect(new Set(examples.map(({ heading }) => heading))).toEqual(new Set([...endpoints, 'Errors', 'Stopping']));
});

describe('each example runs as shown and calls its endpoint', () => {
  it.each(examples.map((example, nth) => ({ ...example, nth })))('$heading', async ({ heading, code, nth }) => {
    const sandbox = await openSandbox({ today: '2026-01-15' });
    onTestFinished(() => sandbox.close());
    vi.stubEnv('SOURCE_URL', sandbox.url);
    vi.stubEnv('SOURCE_API_KEY', sandbox.apiKey);
    const told = vi.spyOn(console, 'log').mockImplementation(() => {});
    onTestFinished(() => {
      told.mockRestore();
      vi.unstubAllEnvs();
    });
    const file = join(folder, `example-${nth}.ts`);
    const client = pathToFileURL(join(root, 'src/source/public/public-client.ts')).href;
    await writeFile(file, `${setUp?.code}${code}await client.close();\n`.replaceAll(`'sluice/client'`, `'${client}'`));
    await import(pathToFileURL(file).href);
    expect([sandbox.stats.failures, sandbox.stats.rejected]).toEqual([[], 0]);
    const asked =
      heading === 'Errors' ? 'POST /api/v2/products' : heading === 'Stopping' ? 'GET /api/v2/invoices' : heading;
    expect(sandbox.stats.byPath).toHaveProperty([asked]);
    for (const [value] of told.mock.calls) expect(value ?? undefined).toBeDefined();
  });
});

long(
  'an installed package works in a program that is built separately, with its types and its code',
  async () => {
    const installed = join(folder, 'node_modules/sluice');
    await mkdir(installed, { recursive: true });
    await cp(join(root, 'package.json'), join(installed, 'package.json'));
    await symlink(join(root, 'node_modules'), join(installed, 'node_modules'));
    const types = join(root, 'node_modules/@types');
    const build = {
      extends: join(root, 'tsconfig.build.json'),
      compilerOptions: { rootDir: root, outDir: join(installed, 'dist'), typeRoots: [types] },
      include: [join(root, 'src/source/public/public-client.ts')],
    };
    await writeFile(join(folder, 'build.json'), JSON.stringify(build));
    const own = {
      module: 'nodenext',
      target: 'es2023',
      strict: true,
      noEmit: true,
      types: ['node'],
      typeRoots: [types],
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: own, files: ['program.mts'] }));
    const blocks = examples.map(({ code }) => {
      const lines = code.split('\n').filter(line => !line.startsWith('import '));
      return `{\n${lines.join('\n')}}\n`;
    });
    const imports = `import { isKind, SluiceError } from 'sluice/client';\n`;
    const wrong = `// @ts-expect-error an amount is text\nvoid client.invoices.list().then(({ rows }) => rows[0]!.amount! * 2);\n`;
    await writeFile(join(folder, 'program.mts'), `${imports}${setUp?.code}${blocks.join('')}${wrong}`);
    const tsc = join(root, 'node_modules/.bin/tsc');
    await run(process.execPath, [join(root, 'build.mjs'), join(installed, 'dist')], { cwd: root });
    await run(tsc, ['-p', join(folder, 'build.json')]);
    const { stdout } = await run(tsc, ['-p', folder]).catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
    await writeFile(
      join(folder, 'main.mjs'),
      `import { createClient } from 'sluice/client';\nconsole.log(typeof createClient);`,
    );
    expect((await run(process.execPath, [join(folder, 'main.mjs')])).stdout).toBe('function\n');
  },
  180_000,
);
