import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, SluiceError } from '../../errors.ts';
import type { RowFile } from './row-files.ts';

export interface Partitioning {
  readonly column: string;
  readonly unit: keyof typeof FORMATS;
}

const FORMATS = { day: 'YYYY-MM-DD', month: 'YYYY-MM', year: 'YYYY' } as const;
/** As Hive names the folder of rows without a value; DuckDB, Spark and Athena know it. */
const WITHOUT = '__HIVE_DEFAULT_PARTITION__';

/** `date`, or `date:year`. Kind `usage` for another unit. */
export function partitioningOf(text: string): Partitioning {
  const [column = '', unit = 'month', more] = text.split(':');
  if (column !== '' && unit in FORMATS && more === undefined) return { column, unit: unit as Partitioning['unit'] };
  throw new SluiceError(
    'usage',
    `--partition-by is "${text}"; expected a column, with :day, :month or :year behind it.`,
    {
      next: 'Example: sluice export invoices --partition-by date:month --out invoices',
    },
  );
}

/** The query with the partition of each row as its first column, in the order of partitions. */
export const partitioned = (query: string, selected: string, { column, unit }: Partitioning): string => {
  const name = `"${column.replaceAll('"', '""')}"`;
  return `select to_char(${name}, '${FORMATS[unit]}'), ${selected} from (${query}\n) q order by date_trunc('${unit}', ${name}), ${name}`;
};

/** Opens the file of each partition below the folder, `date_month=2026-01/data.csv`: rows have to come in the order of partitions. */
export function openPartitions(
  folder: string,
  { column, unit }: Partitioning,
  open: (path: string) => Promise<RowFile>,
  extension: string,
): RowFile & { readonly files: number } {
  let files = 0;
  let current: { readonly partition: string; readonly file: RowFile } | null = null;
  const next = async (partition: string): Promise<RowFile> => {
    await current?.file.complete();
    const place = join(folder, `${column}_${unit}=${partition}`);
    await mkdir(place, { recursive: true });
    const file = await open(join(place, `data.${extension}`));
    current = { partition, file };
    files++;
    return file;
  };
  return {
    get files() {
      return files;
    },
    async write(columns, rows) {
      for (let start = 0; start < rows.length; ) {
        const partition = rows[start]?.[0] ?? WITHOUT;
        let end = start;
        while (end < rows.length && (rows[end]?.[0] ?? WITHOUT) === partition) end++;
        const file = current?.partition === partition ? current.file : await next(partition);
        await file.write(
          columns.slice(1),
          rows.slice(start, end).map(row => row.slice(1)),
        );
        start = end;
      }
    },
    async complete() {
      await current?.file.complete();
    },
    async close() {
      await current?.file.close();
    },
  };
}

/** Files of an earlier export would be taken for some of this one. Kind `usage` unless the folder is empty or new. */
export async function openFolder(folder: string): Promise<void> {
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
