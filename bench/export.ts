// Measures `sluice export` of a table to each format: rows a second, size and peak memory. DuckDB compares the Parquet file with the
// table. Linux only.
//   npm run build && npx tsx bench/export.ts [--rows 1000000] [--json]
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { openPostgres } from './support/open-postgres.ts';
import { figure, print, progress } from './support/print.ts';
import { runSluice } from './support/run-sluice.ts';

const { values: given } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, json: { type: 'boolean', default: false } },
});
const rowCount = Number(given.rows);
const { PATH = '', HOME = '' } = process.env;

const folder = await mkdtemp(join(tmpdir(), 'sluice-export-'));
const postgres = await openPostgres();
try {
  const environment = { PATH, HOME, DATABASE_URL: postgres.url };
  await runSluice(['migrate'], environment);
  await postgres.database.query(
    `insert into warehouse.transactions (_key, id, type, account_id, category_id, amount, description, date, _synced_at, _read_at)
    select g, g, case g % 3 when 0 then 'Expense' else 'Income' end, g % 7, g % 23, (g * 7919 % 1000000) / 100.0,
      'Payment for invoice ' || g, date '2020-01-01' + (g % 2000)::int, now(), now() from generate_series(1, ${rowCount}::bigint) g`,
  );
  const measured = [];
  for (const format of ['csv', 'ndjson', 'parquet']) {
    const path = join(folder, `transactions.${format}`);
    const { exit, ms, peakMb } = await runSluice(['export', 'transactions', '--out', path], environment);
    if (exit !== 0) throw new Error(`The export to ${format} failed.`);
    measured.push({ format, perSecond: (rowCount / ms) * 1000, mb: (await stat(path)).size / 2 ** 20, peakMb });
    progress(`${format}: ${figure(ms / 1000, 1)} s`);
  }
  const isEqual = await compare(join(folder, 'transactions.parquet'));
  print({
    json: given.json,
    document: { measured, isEqual },
    head: ['format', 'rows/s', 'MB', 'peak memory, MB', 'equal to the table'],
    rows: measured.map(({ format, perSecond, mb, peakMb }) => [
      format,
      figure(perSecond),
      figure(mb),
      figure(peakMb),
      format === 'parquet' ? (isEqual ? 'yes' : 'NO') : '',
    ]),
  });
  if (!isEqual) process.exitCode = 1;
} finally {
  await postgres.close();
  await rm(folder, { recursive: true, force: true });
}

/** Sums over every column, and over the lengths of texts, that differ as soon as a value does. */
async function compare(path: string): Promise<boolean> {
  const sums = (from: string) =>
    `select count(*)::text as a, sum(id)::text as b, sum(amount * (id % 97))::numeric(38, 2)::text as c, sum(length(description) * (id % 89))::text as d,
      sum((date - date '2020-01-01') * (id % 83))::text as e, sum(category_id * account_id)::text as f, min(type) as g, max(type) as h from ${from}`;
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  const read = (await connection.runAndReadAll(sums(`'${path}'`))).getRowObjects();
  const { rows } = await postgres.database.query(sums('warehouse.transactions'));
  return JSON.stringify(read) === JSON.stringify(rows);
}
