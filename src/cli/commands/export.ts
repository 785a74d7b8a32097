import { type Command, Option } from 'commander';
import { SECOND } from '../../clock.ts';
import { SluiceError } from '../../errors.ts';
import { plural } from '../../service/format.ts';
import { csv, csvSafe } from '../../service/query/csv.ts';
import { type Ask, type ColumnInfo, readQuery } from '../../warehouse/reports/read-query.ts';
import { type ParquetColumn, parquetColumns } from '../export/parquet-columns.ts';
import { openFolder, openPartitions, type Partitioning, partitioned, partitioningOf } from '../export/partitions.ts';
import { openParquetFile, openTextFile, type RowFile } from '../export/row-files.ts';
import { ndjson } from '../output/query-formats.ts';
import { newCommand } from '../session/new-command.ts';
import { openQueryLogin } from '../session/open-query-login.ts';
import type { Cli, Session } from '../session/session.ts';

const EXAMPLES = `sluice export invoices --out invoices.parquet
sluice export receivables_ageing --out ageing.csv
sluice export transactions --partition-by date --format parquet --out transactions
sluice export "select id, amount from invoices where status = 'Paid'" --out paid.ndjson`;

const FORMATS = ['csv', 'csv-safe', 'ndjson', 'parquet'] as const;
type FormatName = (typeof FORMATS)[number];

interface Options {
  readonly out: string;
  readonly format?: FormatName;
  readonly partitionBy?: string;
}

export function exportCommand(cli: Cli): Command {
  return newCommand('export', 'Write a table, a view or a query to a file', EXAMPLES)
    .argument('<what>', 'a table or view such as invoices or sluice.runs, or one SQL statement')
    .requiredOption('--out <path>', 'the file, or with --partition-by the folder')
    .addOption(new Option('--format <format>', 'default: as the name of the file ends').choices(FORMATS))
    .option('--partition-by <column>', 'a folder for each month of this date; also <column>:day and <column>:year')
    .action(cli.action({ source: false }, runExport));
}

async function runExport(session: Session, what: string, options: Options): Promise<0> {
  const { settings, signal, terminal, clock } = session;
  const format = options.format ?? formatOf(options.out);
  const partitioning = options.partitionBy === undefined ? null : partitioningOf(options.partitionBy);
  if (partitioning) await openFolder(options.out);
  const database = await openQueryLogin(session);
  const source = queryOf(what);
  let parquet: readonly ParquetColumn[] = [];
  const query = async (ask: Ask): Promise<string> => {
    const { columns } = await ask(`select * from (${source}\n) q limit 0`);
    checkNames(columns, partitioning);
    if (format === 'parquet') parquet = await parquetColumns(ask, source, columns);
    const selected = columns.map(({ name }, index) => {
      const column = `"${name.replaceAll('"', '""')}"`;
      return parquet[index] === undefined ? column : `${parquet[index].select(column)} as ${column}`;
    });
    return partitioning
      ? partitioned(source, selected.join(), partitioning)
      : format === 'parquet'
        ? `select ${selected.join()} from (${source}\n) q`
        : source;
  };
  const open = (path: string): Promise<RowFile> =>
    format === 'parquet' ? openParquetFile(path, parquet) : openTextFile(path, TEXT[format]());
  const extension = format === 'csv-safe' ? 'csv' : format;
  const parts = partitioning && openPartitions(options.out, partitioning, open, extension);
  let file: RowFile | null = parts;
  let rowCount = 0;
  let shownAt = clock.now();
  try {
    await readQuery(database, { query, schema: settings.schema, timeoutMs: 0, signal }, async (columns, rows) => {
      file ??= await open(options.out);
      await file.write(columns, rows);
      rowCount += rows.length;
      if (terminal.watched && clock.now() - shownAt > 2 * SECOND) {
        shownAt = clock.now();
        terminal.note(`${plural(rowCount, 'row')} so far`);
      }
      return true;
    });
    await file?.complete();
  } finally {
    await file?.close();
  }
  const files = parts ? parts.files : 1;
  terminal.show({ path: options.out, format, rows: rowCount, files }, () =>
    parts
      ? `${plural(rowCount, 'row')} written to ${plural(files, 'file')} below ${options.out}`
      : `${plural(rowCount, 'row')} written to ${options.out}`,
  );
  return 0;
}

const TEXT = { csv, 'csv-safe': csvSafe, ndjson } as const;
const ENDINGS: Readonly<Record<string, FormatName>> = {
  csv: 'csv',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  parquet: 'parquet',
};

function formatOf(path: string): FormatName {
  const format = ENDINGS[path.slice(path.lastIndexOf('.') + 1).toLowerCase()];
  if (format !== undefined) return format;
  throw new SluiceError('usage', `The name ${path} does not tell the format.`, {
    next: `Name it: --format ${FORMATS.join(', ')}.`,
  });
}

/** A name is quoted, so that it is found whatever it is called. */
function queryOf(what: string): string {
  const text = what.trim().replace(/;$/, '');
  if (!/^[\w.]+$/.test(text)) return text;
  return `select * from ${text
    .split('.')
    .map(part => `"${part}"`)
    .join('.')}`;
}

function checkNames(columns: readonly ColumnInfo[], partitioning: Partitioning | null): void {
  const names = columns.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new SluiceError('usage', `Two columns of the query are called ${twice}.`, {
      next: `Give one of them another name: select .. as other_${twice.replaceAll(/\W+/g, '_')}`,
    });
  if (partitioning && !names.includes(partitioning.column))
    throw new SluiceError('usage', `There is no column ${partitioning.column} to partition by.`, {
      next: `Columns: ${names.join(', ')}.`,
    });
}
