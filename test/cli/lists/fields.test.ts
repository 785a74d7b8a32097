import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkDeclared } from '../../../src/cli/run/pending-migrations.ts';
import { extendJob, loadJobs, withListFiles } from '../../../src/cli/session/load-jobs.ts';
import type { Session } from '../../../src/cli/session/session.ts';
import type { Job } from '../../../src/engine/job.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { acquireSourceLock } from '../../../src/warehouse/database/source-lock.ts';
import { withDatabase } from '../../support/database.ts';
import { type Ended, KEY, run, useBuild } from '../run-command.ts';
import { withLists } from './with-lists.ts';

useBuild();

const PRODUCTS = [
  { id: 1, name: 'Desk', project: 'Alpha', hours: '1.50', seen: '2026-01-15', code: { a: 1 }, 'Odd name': 1 },
  { id: 2, name: 'Lamp', project: 'Beta', hours: 'two', seen: '2026-02-01' },
  { id: 3, name: 'Chair', project: null, hours: 12 },
];
const INVOICES = [
  { id: 7, date: '2026-01-15', amount: '10.00', items: [{ description: 'A', discount: '5%' }, { discount: 2 }] },
];

interface Given {
  readonly cwd: string;
  readonly database: Database;
  readonly sluice: (...args: string[]) => Promise<Ended>;
  readonly elsewhere: (...args: string[]) => Promise<Ended>;
  readonly requests: () => Promise<number>;
  readonly open: (applicationName: string) => Promise<Database>;
}

async function withFields(
  fn: (given: Given) => Promise<void>,
  products: readonly Readonly<Record<string, unknown>>[] = PRODUCTS,
): Promise<void> {
  await withLists({ products, invoices: INVOICES }, async url => {
    await withDatabase(async (database, own) => {
      const cwd = mkdtempSync(join(tmpdir(), 'sluice-fields-'));
      onTestFinished(() => rmSync(cwd, { recursive: true }));
      const env = { SOURCE_URL: url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url, SOURCE_LAG_SECONDS: '0' };
      const sluice = (...args: string[]) => run(args, { cwd, env });
      expect((await sluice('sync', 'products', 'invoices')).code).toBe(0);
      const requests = async () => {
        const { rows } = await database.query('select count(*)::int as sent from sluice.requests');
        return rows[0]?.sent as number;
      };
      await fn({
        cwd,
        database,
        sluice,
        elsewhere: (...args) => run(args, { env }),
        requests,
        open: name => own.open(name),
      });
    });
  });
}

const ask = async (database: Database, query: string) => (await database.query(query)).rows;
const declared = (cwd: string, name: string) => JSON.parse(readFileSync(join(cwd, `lists/${name}.json`), 'utf8'));

test('fields shows what the source sends beyond the columns, with types and examples', async () => {
  await withFields(async ({ sluice }) => {
    const { code, stdout, stderr } = await sluice('fields', 'products');
    expect(stderr).toBe('');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^field +rows +type +examples +kept in$/m)]);
    expect(stdout).toMatch(/^project +3 of 3 +text +Alpha, Beta +_extra$/m);
    expect(stdout).toMatch(/^seen +2 of 3 +date +2026-01-15, 2026-02-01 +_extra$/m);
    expect(stdout).toMatch(/^code +1 of 3 +- +_extra$/m);
    expect(stdout).toMatch(/^Odd name +1 of 3 +- +_extra$/m);
    const { fields } = (await sluice('fields', 'invoices', '--json')).json();
    expect(fields).toContainEqual({
      ...{ field: 'items.discount', table: 'invoice_items', rows: 2, total: 2, file: null, unfit: 0 },
      ...{ type: 'text', examples: ['5%', '2'] },
    });
  });
});

test('a field becomes a column without a request, in the table and its history, and follows what is read', async () => {
  await withFields(async ({ sluice, database, cwd, requests }) => {
    const before = await requests();
    const { code, stdout, stderr } = await sluice(
      'fields',
      'add',
      'products',
      'hours',
      'decimal',
      '--description',
      'Hours.',
    );
    expect([code, stdout]).toEqual([
      0,
      'products.hours is a column now, with a value in 2 rows.\n  written: lists/products.json\nIt is filled from now on as rows are read.\n',
    ]);
    expect(stderr).toContain('products.hours: 1 value in _extra cannot be converted');
    expect(declared(cwd, 'products').fields).toEqual({ hours: { type: 'decimal', description: 'Hours.' } });
    const rows = `select id::int, hours::text, _extra->'hours' as kept from warehouse.products order by id`;
    const expected = [
      { id: 1, hours: '1.5', kept: null },
      { id: 2, hours: null, kept: 'two' },
      { id: 3, hours: '12', kept: null },
    ];
    expect(await ask(database, rows)).toEqual(expected);
    expect(await ask(database, `select hours::text from warehouse.products_history where id = 1`)).toEqual([
      { hours: '1.5' },
    ]);
    expect(
      await ask(
        database,
        `select col_description('warehouse.products'::regclass, attnum) as text from pg_attribute where attrelid = 'warehouse.products'::regclass and attname = 'hours'`,
      ),
    ).toEqual([{ text: 'Hours.' }]);
    expect(await requests()).toBe(before);

    // What is read says the same: no row changes, and none goes into quarantine.
    expect((await sluice('verify', 'products')).code).toBe(0);
    expect(await ask(database, rows)).toEqual(expected);
    expect(await ask(database, 'select * from sluice.quarantine')).toEqual([]);
    expect((await sluice('fields', 'products')).stdout).toMatch(
      /^hours +2 of 3 +decimal +column; 1 of other types in _extra$/m,
    );
  });
});

test('a field of a closed month becomes a column whose type some values do not have: that restates nothing', async () => {
  await withFields(async ({ sluice, database }) => {
    expect((await sluice('sync')).code).toBe(0);
    await database.query(`update warehouse.invoices set _extra = '{"project": "open"}' where id = 7`);
    await database.query(`insert into warehouse.invoices (id, date, _extra, _read_at, _synced_at)
      values (8, '2026-01-16', '{"project": 3}', sluice.now(), sluice.now())`);
    expect((await sluice('close', '2026-01')).stderr).toBe('');
    expect((await sluice('fields', 'add', 'invoices', 'project', 'decimal')).code).toBe(0);
    expect(await ask(database, 'select * from warehouse.restatements')).toEqual([]);
    await database.query(
      `update warehouse.invoices set _extra = '{"project": "done"}', _synced_at = sluice.now() where id = 7`,
    );
    expect(await ask(database, 'select before, after from warehouse.restatements')).toEqual([
      { before: { project: 'open' }, after: { project: 'done' } },
    ]);
  });
});

test('what a run replaced before a field had its column is restored there, too', async () => {
  const products = [{ id: 1, name: 'Desk', project: 'Alpha' }];
  await withFields(async ({ sluice, database }) => {
    Object.assign(products[0] as object, { name: 'Table', project: 'Beta' });
    expect((await sluice('sync', 'products')).code).toBe(0);
    const [last] = await ask(database, `select max(id)::text as id from sluice.runs where resource = 'products'`);
    expect((await sluice('fields', 'add', 'products', 'project', 'text')).code).toBe(0);
    expect((await sluice('undo', String(last?.id))).code).toBe(0);
    expect(await ask(database, 'select name, project, _extra from warehouse.products')).toEqual([
      { name: 'Desk', project: 'Alpha', _extra: null },
    ]);
  }, products);
});

test('values that no longer fit their column are no loss: they are stored in _extra', async () => {
  const products = Array.from({ length: 10 }, (_, index) => ({ id: index + 1, name: 'Desk', hours: '12' }));
  await withFields(async ({ sluice, database }) => {
    expect((await sluice('fields', 'add', 'products', 'hours', 'decimal')).code).toBe(0);
    for (const product of products.slice(0, 6)) product.hours = 'open';
    expect((await sluice('sync', 'products')).code).toBe(0);
    expect(
      await ask(
        database,
        `select hours::text, _extra->>'hours' as kept, count(*)::int as rows from warehouse.products group by 1, 2 order by 1`,
      ),
    ).toEqual([
      { hours: '12', kept: null, rows: 4 },
      { hours: null, kept: 'open', rows: 6 },
    ]);
    expect(await ask(database, 'select * from sluice.held')).toEqual([]);
  }, products);
});

test('a field of the rows inside becomes a column of their table', async () => {
  await withFields(async ({ sluice, database, cwd }) => {
    expect((await sluice('fields', 'add', 'invoices', 'items.discount', 'decimal')).code).toBe(0);
    expect(declared(cwd, 'invoices')).toEqual({ children: { items: { fields: { discount: 'decimal' } } } });
    const rows = 'select line, discount::text, _extra from warehouse.invoice_items order by line';
    const expected = [
      { line: 1, discount: null, _extra: { discount: '5%' } },
      { line: 2, discount: '2', _extra: null },
    ];
    expect(await ask(database, rows)).toEqual(expected);
    expect((await sluice('verify', 'invoices', '--repair')).code).toBe(0);
    expect(await ask(database, rows)).toEqual(expected);
    expect((await sluice('fields', 'drop', 'invoices', 'items.discount')).code).toBe(0);
    expect(await ask(database, 'select line, _extra from warehouse.invoice_items order by line')).toEqual([
      { line: 1, _extra: { discount: '5%' } },
      { line: 2, _extra: { discount: 2 } },
    ]);
  });
});

test('drop puts a column back, and refuses while a view depends on it', async () => {
  await withFields(async ({ sluice, database, cwd }) => {
    await sluice('fields', 'add', 'products', 'project', 'text');
    await sluice('fields', 'add', 'products', 'seen', 'date');
    await database.query('create view warehouse.mine as select project from warehouse.products');
    const refused = await sluice('fields', 'drop', 'products', 'project');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('view mine depends on column project')]);
    expect(Object.keys(declared(cwd, 'products').fields)).toEqual(['project', 'seen']);
    await database.query('drop view warehouse.mine');
    expect((await sluice('fields', 'drop', 'products', 'project')).stdout).toContain(
      'products.project is no longer a column',
    );
    expect(await ask(database, 'select id::int, seen::text, _extra from warehouse.products order by id')).toEqual([
      { id: 1, seen: '2026-01-15', _extra: { hours: '1.50', project: 'Alpha', code: { a: 1 }, 'Odd name': 1 } },
      { id: 2, seen: '2026-02-01', _extra: { hours: 'two', project: 'Beta' } },
      { id: 3, seen: null, _extra: { hours: 12 } },
    ]);
    expect(await ask(database, 'select seen::text from warehouse.products_history where id = 1')).toEqual([
      { seen: '2026-01-15' },
    ]);
    const unknown = await sluice('fields', 'drop', 'products', 'name');
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('No file in lists/ declares products.name'),
    ]);
  });
});

test('a command that was started elsewhere takes no column away', async () => {
  await withFields(async ({ sluice, elsewhere, database, cwd }) => {
    await sluice('fields', 'add', 'products', 'project', 'text');
    const refused = await elsewhere('sync', 'products');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining(
        'warehouse has products.project from lists/products.json, which no longer declares it like that. Nothing was changed.',
      ),
    ]);
    expect(await ask(database, `select count(project)::int as filled from warehouse.products`)).toEqual([
      { filled: 2 },
    ]);
    // Once it is meant, the file is the truth.
    writeFileSync(join(cwd, 'lists/products.json'), '{"fields": {"project": "text", "hours": "text"}}');
    expect((await sluice('migrate', '--dry-run')).stdout).toBe('Would apply:\n  warehouse/products.hours\n');
    writeFileSync(join(cwd, 'lists/products.json'), '{"fields": {"hours": "text"}}');
    expect((await sluice('migrate', '--dry-run')).stdout).toBe(
      'Would apply:\n  warehouse/products.project into _extra\n  warehouse/products.hours\n',
    );
    expect((await sluice('migrate')).code).toBe(0);
    expect(
      await ask(database, `select hours, _extra->>'project' as project from warehouse.products order by id`),
    ).toEqual([
      { hours: '1.50', project: 'Alpha' },
      { hours: 'two', project: 'Beta' },
      { hours: '12', project: null },
    ]);
  });
});

test('a wrong field changes nothing', async () => {
  await withFields(async ({ sluice, database, cwd, open }) => {
    const refusals: [args: string[], says: string][] = [
      [['products', 'project', 'decimal'], 'No stored value of project is of type decimal, such as "Alpha"'],
      [['products', 'project', 'txt'], 'Unknown type "txt" (did you mean "text"?)'],
      [['products', 'Odd name', 'text'], '"Odd name" cannot be a column'],
      [['products', 'name', 'text'], 'adds "name", which products has already'],
      [['products', 'api_token', 'text'], 'has the name of a secret'],
      [['products', 'lines.x', 'text'], 'adds fields to "lines", which is no list inside products'],
      [['orders', 'total', 'decimal'], 'which keeps each row whole'],
      [['products', 'valid_from', 'date'], '"valid_from" cannot be a column'],
      [['invoices', 'items.line', 'integer'], 'adds "items.line", which invoices has already'],
      [['invoices', 'items.invoice_id', 'integer'], 'adds "items.invoice_id", which invoices has already'],
      [['products', 'project', 'text', '--source', 'main'], 'A file in lists/ holds for all sources'],
    ];
    for (const [args, says] of refusals) {
      const { code, stderr } = await sluice('fields', 'add', ...args);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(says)]);
    }
    expect(existsSync(join(cwd, 'lists/products.json'))).toBe(false);
    const lock = await acquireSourceLock(database, 'main');
    const busy = await sluice('fields', 'add', 'products', 'project', 'text');
    expect([busy.code, busy.stderr]).toEqual([
      1,
      expect.stringContaining('Another process is reading main, so nothing was changed'),
    ]);
    await lock?.release();
    const service = await open('sluice start');
    const running = await sluice('fields', 'add', 'products', 'project', 'text');
    expect([running.code, running.stderr]).toEqual([1, expect.stringContaining('A service reads main')]);
    await service.close();
    expect(existsSync(join(cwd, 'lists/products.json'))).toBe(false);
    await sluice('fields', 'add', 'products', 'project', 'text');
    const twice = await sluice('fields', 'add', 'products', 'project', 'decimal');
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('declares products.project already')]);
    mkdirSync(join(cwd, 'lists'), { recursive: true });
    writeFileSync(join(cwd, 'lists/products.json'), '{"fields": {"projct": "txt"}, "colour": 1}');
    const wrong = await sluice('status');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('2 settings are wrong')]);
  });
});

test('whatever the umask and the marks of an editor, a written file can be read', async () => {
  await withFields(async ({ sluice, cwd }) => {
    const umask = process.umask(0o002);
    try {
      expect((await sluice('fields', 'add', 'products', 'project', 'text')).code).toBe(0);
    } finally {
      process.umask(umask);
    }
    const file = join(cwd, 'lists/products.json');
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o644);
    writeFileSync(file, `\uFEFF${readFileSync(file, 'utf8')}`);
    expect((await sluice('fields', 'add', 'products', 'seen', 'date')).stderr).toBe('');
    expect(Object.keys(declared(cwd, 'products').fields)).toEqual(['project', 'seen']);
  });
});

test('a process that was started with other lists reads no more', async () => {
  await withFields(async ({ sluice, database }) => {
    const settings = { sources: [], hashKey: null };
    const before = { settings, jobs: await loadJobs(new URL('../../../jobs/', import.meta.url)) } as unknown as Session;
    const place = { schema: 'warehouse' };
    await checkDeclared(before, database, place);
    const [index] = await ask(
      database,
      `select indexrelid::regclass::text as name from pg_index where indrelid = 'warehouse.products'::regclass and not indisunique`,
    );
    await database.query(`drop index ${String(index?.name)}`);
    await checkDeclared(before, database, place);
    await sluice('fields', 'add', 'products', 'project', 'text');
    await expect(checkDeclared(before, database, place)).rejects.toThrow('were changed since this process was started');
    const job = before.jobs.get('products') as Job;
    const after = extendJob('products', job, { fields: { project: { type: 'text', description: '' } }, children: {} });
    const dropped = { settings, jobs: new Map([['products', after]]) } as unknown as Session;
    await checkDeclared(dropped, database, place);
    await sluice('fields', 'drop', 'products', 'project');
    await expect(checkDeclared(dropped, database, place)).rejects.toThrow(
      'were changed since this process was started',
    );
    // Another process keeps a field from being stored, and this one would store it.
    await checkDeclared(before, database, place);
    await database.query(
      `insert into sluice.masks (schema, resource, field, rule, counts, masked_at)
       values ('warehouse', 'products', 'name', 'never', '{}', sluice.now())`,
    );
    await expect(checkDeclared(before, database, place)).rejects.toThrow('were changed since this process was started');
  });
});

test('lists of files have names of their own', async () => {
  const known = await loadJobs(new URL('../../../jobs/', import.meta.url));
  const own = (name: string, table = 'lines') => ({
    ...{ name, file: `lists/${name}.json`, declares: 'list' as const },
    list: {
      ...{ path: '/x', description: '', schedule: '0 * * * *', key: 'id', withoutKey: 'content' as const },
      fields: { id: { type: 'integer' as const, description: '' } },
      children: { lines: { table, parent: 'contract', description: '', fields: {} } },
      ...{ slicings: [], updatedAt: null, never: [], events: {}, history: false, rewriteShares: {} },
    },
  });
  expect([...withListFiles(known, [own('contracts')]).keys()]).toContain('contracts');
  for (const files of [
    [own('contracts'), own('contracts_history', 'others')],
    [own('row_history')],
    [own('contracts', 'invoice_items')],
    [own('contracts', 'invoices')],
    [own('contracts'), own('deals')],
  ])
    expect(() => withListFiles(known, files)).toThrow(/are both called/);
});
