import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { long } from '../../support/long.ts';
import { useBuild, withInstallation } from '../run-command.ts';

useBuild();

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-export-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What DuckDB reads from files, each value as text. */
async function readWithDuckDb(query: string): Promise<Record<string, string | null>[]> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(query);
    return reader
      .getRowObjects()
      .map(row =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)])),
      );
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

test('a table, a view and a query are written as Parquet, and DuckDB reads what Postgres holds', async () => {
  await withInstallation({}, async ({ sluice, sync, database }) => {
    const folder = temporaryFolder();
    await sync('customers', 'invoices');
    await database.query(
      `update warehouse.invoices set amount = '-12345678901234567.0625', notes = e'a "b",\\n', _extra = '{"a": [1, "x"]}' where id = (select min(id) from warehouse.invoices)`,
    );
    const path = join(folder, 'invoices.parquet');
    const exported = await sluice('export', 'invoices', '--out', path, '--json');
    const { rows } = await database.query<Record<string, string>>(
      `select id::text, invoice_number, date::text, amount::text, trim_scale(amount)::text as exact, notes, _extra::text as extra,
        encode(_hash, 'hex') as hash, (extract(epoch from _synced_at) * 1000000)::bigint::text as synced from warehouse.invoices order by id`,
    );
    expect(exported.json()).toEqual({
      path,
      format: 'parquet',
      rows: rows.length,
      files: 1,
      asOf: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    });
    const read = await readWithDuckDb(
      `select id::text as id, invoice_number, date::text as date, amount, notes, _extra as extra,
        lower(hex(_hash)) as hash, epoch_us(_synced_at)::text as synced from '${path}' order by id`,
    );
    expect(read.map(row => ({ ...row, amount: Number(row.amount) }))).toEqual(
      rows.map(({ exact: _exact, ...row }) => ({ ...row, amount: Number(row.amount) })),
    );
    // Exact to the last digit, not only as far as a double tells.
    const sums = await readWithDuckDb(`select sum(amount)::text as sum from '${path}'`);
    const total = await database.query<{ sum: string }>(
      `select sum(amount)::numeric(38, 8)::text as sum from warehouse.invoices`,
    );
    expect(sums).toEqual(total.rows);
    const types = await readWithDuckDb(
      `select column_name as name, column_type as type from (describe select * from '${path}')`,
    );
    expect(Object.fromEntries(types.map(({ name, type }) => [name, type]))).toMatchObject({
      id: 'BIGINT',
      date: 'DATE',
      amount: 'DECIMAL(38,8)',
      notes: 'VARCHAR',
      _extra: 'VARCHAR',
      _hash: 'BLOB',
      _synced_at: 'TIMESTAMP WITH TIME ZONE',
    });

    const view = join(folder, 'ageing.parquet');
    expect((await sluice('export', 'receivables_ageing', '--out', view)).code).toBe(0);
    const owed = await database.query(
      'select sum(total)::numeric(38, 2)::text as sum from warehouse.receivables_ageing',
    );
    expect(await readWithDuckDb(`select sum(total)::numeric(38, 2)::text as sum from '${view}'`)).toEqual(owed.rows);

    const odd = join(folder, 'odd.parquet');
    const query = `select 'NaN'::numeric as n, 'infinity'::date as d, true as yes, 1.5::float8 as f, null::int as nothing,
      'x'::text as "Some name", timestamp '2026-01-15 10:00:00.000001' as at -- the end`;
    expect((await sluice('export', query, '--out', odd)).code).toBe(0);
    expect(await readWithDuckDb(`select * from '${odd}'`)).toEqual([
      {
        n: 'NaN',
        d: 'infinity',
        yes: 'true',
        f: '1.5',
        nothing: null,
        'Some name': 'x',
        at: '2026-01-15 10:00:00.000001',
      },
    ]);
    const none = join(folder, 'none.parquet');
    expect((await sluice('export', 'select 1 as one where false', '--out', none)).code).toBe(0);
    expect(await readWithDuckDb(`select count(*)::text as rows from '${none}'`)).toEqual([{ rows: '0' }]);
  });
}, 60_000);

test('csv and ndjson are what sluice sql writes; partitions hold the rows of their month', async () => {
  await withInstallation({}, async ({ sluice, sync, database }) => {
    const folder = temporaryFolder();
    await sync('transactions');
    await database.query(
      'update warehouse.transactions set date = null where _key = (select min(_key) from warehouse.transactions)',
    );
    for (const format of ['csv', 'ndjson'] as const) {
      const path = join(folder, `rows.${format}`);
      await sluice('export', 'select * from transactions order by _key', '--out', path);
      const printed = await sluice('sql', '--format', format, 'select * from transactions order by _key');
      expect(readFileSync(path, 'utf8')).toBe(printed.stdout);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }

    const parts = join(folder, 'parts');
    const exported = await sluice(
      'export',
      'transactions',
      '--partition-by',
      'date',
      '--format',
      'parquet',
      '--out',
      parts,
    );
    expect(exported.stdout).toMatch(/^[\d,]+ rows written to \d+ files below /);
    expect(readdirSync(parts)).toContain('date_month=__HIVE_DEFAULT_PARTITION__');
    const { rows } = await database.query(
      `select to_char(date, 'YYYY-MM') as month, count(*)::text as rows from warehouse.transactions group by 1 order by 1 nulls last`,
    );
    expect(
      await readWithDuckDb(
        `select date_month::text as month, count(*)::text as rows from read_parquet('${parts}/*/*.parquet', hive_partitioning = true,
          hive_types_autocast = false) where date is null or strftime(date, '%Y-%m') = date_month group by 1 order by 1 nulls last`,
      ),
    ).toEqual(rows);
    const again = await sluice('export', 'transactions', '--partition-by', 'date', '--format', 'csv', '--out', parts);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('is not empty')]);
  });
}, 60_000);

test('a partitioned export that fails leaves no partition that would be taken for the whole', async () => {
  await withInstallation({}, async ({ sluice, database }) => {
    const out = join(temporaryFolder(), 'parts');
    await database.query('create table public.parts (at timestamp, x int)');
    await database.query(
      `insert into public.parts select timestamp '2026-01-01', 1 from generate_series(1, 200) union all
      select timestamp '2026-02-01', 1 from generate_series(1, 400) union all select timestamp '2026-03-01', 0`,
    );
    await database.query("create index on public.parts (date_trunc('month', at), at)");
    // A plan by the index divides row by row, so that it fails after the first batch was written.
    await database.query(
      "do $$ begin execute format('alter database %I set enable_sort = off', current_database()); end $$",
    );
    const write = (query: string) =>
      sluice('export', query, '--partition-by', 'at', '--format', 'csv', '--out', out, '--json');
    const failed = await write('select at, 1 / x as y from parts');
    expect([failed.code, failed.json().error.message]).toEqual([1, expect.stringContaining('division by zero')]);
    expect(readdirSync(out, { recursive: true })).toEqual([]);
    const complete = await write('select at, x from parts');
    expect([complete.code, complete.json().files]).toEqual([0, 3]);
    expect(readdirSync(out).sort()).toEqual(['at_month=2026-01', 'at_month=2026-02', 'at_month=2026-03']);
  });
});

long('what cannot be exported says why, and leaves no file', async () => {
  await withInstallation({}, async ({ sluice }) => {
    const folder = temporaryFolder();
    const path = join(folder, 'out.parquet');
    const refused = async (...args: string[]) => {
      const { code, stderr } = await sluice('export', ...args);
      return `${code}: ${stderr.replace(/^This query runs with the rights of .*\n/, '')}`;
    };
    expect(await refused('invoice', '--out', path)).toMatch(/^1: .*"?invoice"? does not exist/);
    expect(await refused('select 1 as a, 2 as a', '--out', path)).toMatch(
      /^2: Two columns of the query are called a\./,
    );
    expect(await refused('select 1/0 as a', '--out', path)).toMatch(/^1: .*division by zero/);
    expect(await refused('invoices', '--out', join(folder, 'out.xlsx'))).toMatch(
      /^2: .*does not tell the format.*\n.*--format/,
    );
    expect(await refused('invoices', '--out', join(folder, 'absent', 'out.csv'))).toMatch(/^2: .*cannot be written/);
    expect(await refused('invoices')).toMatch(/^2: .*--out/);
    for (const by of ['date:week', 'date:constructor'])
      expect(await refused('invoices', '--partition-by', by, '--format', 'csv', '--out', join(folder, 'p'))).toMatch(
        new RegExp(`^2: --partition-by is "${by}"`),
      );
    expect(await refused('invoices', '--partition-by', 'day', '--format', 'csv', '--out', join(folder, 'q'))).toMatch(
      /^2: There is no column day to partition by\.\nColumns: id, /,
    );
    expect(await refused('delete from invoices returning *', '--out', path)).toMatch(/^1: /);
    writeFileSync(join(folder, 'kept.csv'), 'kept');
    expect(await refused('select 1/0 as a', '--out', join(folder, 'kept.csv'))).toMatch(/^1: /);
    expect(readFileSync(join(folder, 'kept.csv'), 'utf8')).toBe('kept');
    expect(existsSync(path)).toBe(false);
  });
});
