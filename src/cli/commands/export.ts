import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { SECOND } from '../../clock.ts';
import { groupBy } from '../../engine/group-by.ts';
import { codeOf, SluiceError } from '../../errors.ts';
import { asOf } from '../../service/answers/fresh-query.ts';
import { plural } from '../../service/format.ts';
import { csv, csvSafe } from '../../service/query/csv.ts';
import type { Ask, ColumnInfo } from '../../warehouse/reports/read-query.ts';
import { openParquetFile, type ParquetColumn, parquetColumns } from '../output/parquet-file.ts';
import { ndjson, refuseDuplicates } from '../output/query-formats.ts';
import { openTextFile, type RowFile, writeRows } from '../output/result-file.ts';
import { type FreshOptions, freshen, noteAge, withFreshOptions } from '../run/fresh-answer.ts';
import { type Cli, newCommand, openQueryLogin, pathFrom, type Session } from '../session/session.ts';

const EXAMPLES = `sluice export invoices --out invoices.parquet
sluice export receivables_ageing --out ageing.csv
sluice export transactions --partition-by date --format parquet --out transactions
sluice export "select id, amount from invoices where status = 'Paid'" --out paid.ndjson`;

const FORMATS = ['csv', 'csv-safe', 'ndjson', 'parquet'] as const;
type FormatName = (typeof FORMATS)[number];

interface Options extends FreshOptions {
  readonly out: string;
  readonly format?: FormatName;
  readonly partitionBy?: string;
}

export function command(cli: Cli): Command {
  const command = newCommand('export', EXAMPLES)
    .argument('<what>', 'a table or view such as invoices or sluice.runs, or one SQL statement')
    .requiredOption('--out <path>', 'the file, or with --partition-by the folder')
    .addOption(new Option('--format <format>', 'default: as the name of the file ends').choices(FORMATS))
    .option('--partition-by <column>', 'a folder for each month of this date; also <column>:day and <column>:year');
  return withFreshOptions(command).action(cli.action({ source: false }, runExport));
}

async function runExport(session: Session, what: string, options: Options): Promise<0> {
  const { settings, signal, terminal, clock } = session;
  const out = pathFrom(session, options.out);
  const format = options.format ?? formatOf(out);
  const partitioning = options.partitionBy === undefined ? null : partitioningOf(options.partitionBy);
  if (partitioning) await openFolder(out);
  const database = await openQueryLogin(session);
  const source = queryOf(what);
  const { schema } = settings.single;
  const age = await freshen(session, database, { query: source, schema, timeoutMs: 0 }, options);
  let parquet: readonly ParquetColumn[] = [];
  const query = async (ask: Ask): Promise<string> => {
    const { columns } = await ask(`select * from (${source}\n) q limit 0`);
    checkNames(columns, partitioning);
    if (format === 'parquet') parquet = await parquetColumns(ask, source, columns);
    const selected = columns.map(({ name }, index) => {
      const column = identifier(name);
      return parquet[index] === undefined ? column : `${parquet[index].select(column)} as ${column}`;
    });
    if (partitioning) return partitioned(source, selected.join(), partitioning);
    return format === 'parquet' ? `select ${selected.join()} from (${source}\n) q` : source;
  };
  const open = (path: string): Promise<RowFile> =>
    format === 'parquet' ? openParquetFile(path, parquet) : openTextFile(path, TEXT[format]());
  const extension = format === 'csv-safe' ? 'csv' : format;
  const parts = partitioning && openPartitions(out, partitioning, open, extension);
  let shownAt = clock.now();
  const read = { query, schema, timeoutMs: 0, signal };
  const rows = await writeRows(database, read, parts ?? (() => open(out)), rowCount => {
    if (!terminal.watched || clock.now() - shownAt <= 2 * SECOND) return;
    shownAt = clock.now();
    terminal.note(`${plural(rowCount, 'row')} so far`);
  });
  const files = parts?.files ?? 1;
  const place = parts ? `${plural(files, 'file')} below ${options.out}` : options.out;
  terminal.show(
    { path: options.out, format, rows, files, asOf: age && asOf(age) },
    () => `${plural(rows, 'row')} written to ${place}`,
  );
  noteAge(terminal, age);
  return 0;
}

const TEXT = { csv, 'csv-safe': csvSafe, ndjson } as const;

function formatOf(path: string): FormatName {
  const ending = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
  if (ending === 'jsonl') return 'ndjson';
  if (ending === 'csv' || ending === 'ndjson' || ending === 'parquet') return ending;
  throw new SluiceError('usage', `The name ${path} does not tell the format.`, {
    next: `Name it: --format ${FORMATS.join(', ')}.`,
  });
}

/** A name is quoted, so that it is found whatever it is called. */
function queryOf(what: string): string {
  const text = what.trim().replace(/;$/, '');
  if (!/^[\w.]+$/.test(text)) return text;
  return `select * from "${text.replaceAll('.', '"."')}"`;
}

const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function checkNames(columns: readonly ColumnInfo[], partitioning: Partitioning | null): void {
  refuseDuplicates(columns);
  const names = columns.map(({ name }) => name);
  if (partitioning && !names.includes(partitioning.column))
    throw new SluiceError('usage', `There is no column ${partitioning.column} to partition by.`, {
      next: `Columns: ${names.join(', ')}.`,
    });
}

interface Partitioning {
  readonly column: string;
  readonly unit: keyof typeof UNITS;
}

const UNITS = { day: 'YYYY-MM-DD', month: 'YYYY-MM', year: 'YYYY' } as const;
/** As Hive names the folder of rows without a value; DuckDB, Spark and Athena know it. */
const WITHOUT = '__HIVE_DEFAULT_PARTITION__';

/** `date`, or `date:year`. Kind `usage` for another unit. */
function partitioningOf(text: string): Partitioning {
  const [column = '', unit = 'month', more] = text.split(':');
  if (column !== '' && Object.hasOwn(UNITS, unit) && more === undefined)
    return { column, unit: unit as Partitioning['unit'] };
  const message = `--partition-by is "${text}"; expected a column, with :day, :month or :year behind it.`;
  throw new SluiceError('usage', message, {
    next: 'Example: sluice export invoices --partition-by date:month --out invoices',
  });
}

/** The query with the partition of each row as its first column, in the order of partitions. */
const partitioned = (query: string, selected: string, { column, unit }: Partitioning): string => {
  const name = identifier(column);
  return `select to_char(${name}, '${UNITS[unit]}'), ${selected} from (${query}\n) q order by date_trunc('${unit}', ${name}), ${name}`;
};

/**
 * Writes the file of each partition, `date_month=2026-01/data.csv`: rows have to come in the order of partitions. All appear in the folder
 * once the last is complete, because readers take what lies there for the whole table.
 */
function openPartitions(
  folder: string,
  { column, unit }: Partitioning,
  open: (path: string) => Promise<RowFile>,
  extension: string,
): RowFile & { readonly files: number } {
  // Within it: the folder may be a mount, which cannot be replaced.
  const unfinished = join(folder, `.part-${process.pid}`);
  const names: string[] = [];
  let current: { readonly partition: string; readonly file: RowFile } | null = null;
  const next = async (partition: string): Promise<RowFile> => {
    await current?.file.complete();
    const name = `${column}_${unit}=${partition}`;
    await mkdir(join(unfinished, name), { recursive: true });
    const file = await open(join(unfinished, name, `data.${extension}`));
    current = { partition, file };
    names.push(name);
    return file;
  };
  return {
    get files() {
      return names.length;
    },
    async write(columns, rows) {
      for (const [partition, part] of groupBy(rows, row => row[0] ?? WITHOUT)) {
        const file = current?.partition === partition ? current.file : await next(partition);
        await file.write(
          columns.slice(1),
          part.map(row => row.slice(1)),
        );
      }
    },
    async complete() {
      await current?.file.complete();
      for (const name of names) await rename(join(unfinished, name), join(folder, name));
    },
    async close() {
      await current?.file.close();
      await rm(unfinished, { recursive: true, force: true });
    },
  };
}

/** Files of an earlier export would be taken for some of this one. Kind `usage` unless the folder is empty or new. */
async function openFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if ((await readdir(folder)).length === 0) return;
  } catch (cause) {
    throw new SluiceError('usage', `The folder ${folder} cannot be created or read (${codeOf(cause)}).`, {
      cause,
      next: 'Name another folder with --out.',
    });
  }
  throw new SluiceError('usage', `The folder ${folder} is not empty.`, {
    next: 'Name a new folder with --out, or delete this one.',
  });
}
