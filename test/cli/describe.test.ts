import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { warehouseTypes } from '../../src/cli/output/warehouse-types.ts';
import { withDatabase } from '../support/database.ts';
import { run, useBuild } from './run-command.ts';

useBuild();

const PROJECT = { field: 'project', type: 'text', description: 'Project that it belongs to.' };
const CONTRACTS = {
  path: '/api/v2/contracts',
  description: 'A contract.',
  key: 'id',
  fields: { id: { type: 'integer' }, customer_id: { type: 'integer', description: 'The customer.' } },
};

test('describe tells the tables of the installation, with its own fields and lists, in each form', async () => {
  await withDatabase(async (database, { url }) => {
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-describe-'));
    onTestFinished(() => rmSync(cwd, { recursive: true }));
    const env = { DATABASE_URL: url, SOURCE_URL: 'http://127.0.0.1:1', SOURCE_API_KEY: 'key' };
    const sluice = (...args: string[]) => run(['describe', ...args], { cwd, env });
    mkdirSync(join(cwd, 'lists'));
    const { description, type } = PROJECT;
    writeFileSync(
      join(cwd, 'lists/products.json'),
      JSON.stringify({ fields: { [PROJECT.field]: { type, description } } }),
    );
    writeFileSync(join(cwd, 'lists/contracts.json'), JSON.stringify(CONTRACTS));
    expect(await sluice('products')).toMatchObject({ code: 2, stderr: expect.stringContaining('sluice migrate') });
    expect((await run(['migrate'], { cwd, env })).code).toBe(0);
    await database.query(`comment on view warehouse.open_invoices is 'Ends */ here'`);

    const all = await sluice();
    expect(all.stdout).toMatch(/^contracts {2,}table {2,}\d+ {2}A contract\.$/m);
    expect(all.stdout).toMatch(/^open_invoices {2,}view /m);
    expect(all.stdout).not.toMatch(/^products_history/m);
    expect(Math.max(...all.stdout.split('\n').map(line => line.length))).toBeLessThanOrEqual(100);

    const products = await sluice('products');
    expect(products.stdout).toMatch(/^products {2}/);
    expect(products.stdout).toMatch(/^_key +\w+, key +\S/m);
    expect(products.stdout).toMatch(/^project +text +Project that it belongs to\.$/m);
    const column = { name: 'project', type: 'text', comment: description, isKey: false, required: false };
    expect((await sluice('warehouse.products', '--json')).json()).toMatchObject({
      ...{ schema: 'warehouse', name: 'products', kind: 'table' },
      columns: expect.arrayContaining([column]),
    });
    expect(await sluice('product')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^The schema warehouse has no table or view "product" \(did you mean "products"\?\)\./,
      ),
    });

    const types = (await sluice('--types')).stdout;
    await transform(types, { loader: 'ts' });
    expect(types).toContain('  /** Project that it belongs to. */\n  readonly project: string | null;\n');
    expect(types).toContain('  contracts: Contracts;\n');
    expect(types).toContain('/** Ends * / here */\nexport interface OpenInvoices {');

    expect((await sluice('--dbt', '--out', 'sluice.yml')).stdout).toBe('Written: sluice.yml\n');
    const { sources } = parse(readFileSync(join(cwd, 'sluice.yml'), 'utf8'));
    // biome-ignore lint/suspicious/noExplicitAny: a document of dbt
    const contracts = sources[0].tables.find((each: any) => each.name === 'contracts');
    expect(contracts).toMatchObject({
      description: 'A contract.',
      config: { loaded_at_query: "select equal_as_of from warehouse.freshness where resource = 'contracts'" },
      columns: expect.arrayContaining([
        expect.objectContaining({ name: '_key', data_tests: ['unique', 'not_null'] }),
        expect.objectContaining({
          name: 'customer_id',
          data_tests: [
            {
              relationships: {
                arguments: { to: "source('sluice', 'customers')", field: 'id' },
                config: { severity: 'warn' },
              },
            },
          ],
        }),
      ]),
    });
  });
});

test.each([
  [['invoices', '--dbt'], '--types and --dbt describe all tables.'],
  [['--out', 'x.ts'], '--out needs a form.'],
  [['--types', '--dbt'], '--types'],
])('describe %j is wrong usage', async (args, message) => {
  const env = { SOURCE_URL: 'http://127.0.0.1:1', SOURCE_API_KEY: 'key' };
  const ended = await run(['describe', ...args], { env });
  expect([ended.code, ended.stdout]).toEqual([2, '']);
  expect(ended.stderr).toContain(message);
});

test('the names and types of tables that somebody else made are TypeScript, too', async () => {
  const columns = [
    { name: 'in total', type: 'numeric(12,2)', comment: null, required: false },
    { name: 'tags', type: 'text[]', comment: 'Two\nlines', required: true },
  ];
  const types = warehouseTypes([{ name: 'odd name', comment: null, columns }], 'books');
  await transform(types, { loader: 'ts' });
  expect(types).toContain(
    'export interface OddName {\n  readonly "in total": string | null;\n  /** Two lines */\n  readonly tags: unknown;\n}',
  );
  expect(types).toContain("withSchema('books')");
});
