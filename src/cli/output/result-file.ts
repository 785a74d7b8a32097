import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { codeOf, SluiceError } from '../../errors.ts';
import type { Format } from '../../service/query/csv.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { type ColumnInfo, readQuery, type TextRow } from '../../warehouse/reports/read-query.ts';

export interface RowFile {
  write(columns: readonly ColumnInfo[], rows: readonly TextRow[]): Promise<void>;
  complete(): Promise<void>;
  /** Removes what was written, unless it is complete. */
  close(): Promise<void>;
}

/** Writes the rows of a query to a file, opened once its columns are known if it is a function; returns how many there were. */
export async function writeRows(
  database: Database,
  query: Parameters<typeof readQuery>[1],
  file: RowFile | (() => Promise<RowFile>),
  onRows: (rowCount: number) => void = () => undefined,
): Promise<number> {
  let opened: RowFile | undefined = typeof file === 'function' ? undefined : file;
  let rowCount = 0;
  try {
    await readQuery(database, query, async (columns, rows) => {
      if (typeof file === 'function') opened ??= await file();
      await opened?.write(columns, rows);
      rowCount += rows.length;
      onRows(rowCount);
      return true;
    });
    await opened?.complete();
  } finally {
    await opened?.close();
  }
  return rowCount;
}

/** Rows of a warehouse are nobody else's business, unless a file that is replaced was shared. */
const OWN = 0o600;

export async function openTextFile(path: string, { write, end }: Format): Promise<RowFile> {
  const file = await openResultFile(path);
  return {
    write: (columns, rows) => file.write(write(columns, rows)),
    async complete() {
      await file.write(end());
      await file.complete();
    },
    close: () => file.close(),
  };
}

/** Writes a file that appears under its name only once `work` is done; removes what was written if that fails. */
export async function withResultFile<T>(
  path: string,
  work: (write: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const file = await openResultFile(path);
  try {
    const result = await work(file.write);
    await file.complete();
    return result;
  } finally {
    await file.close();
  }
}

/**
 * A file that appears under its name only once it is complete; a device or a pipe is written as it is. A link stays, and what it leads to is
 * replaced. Kind `usage` where it cannot be created.
 */
export async function openResultFile(path: string) {
  const place = await realpath(path).catch(() => path);
  const replaced = await stat(place).catch(() => null);
  const part = replaced === null || replaced.isFile() ? `${place}.part-${process.pid}` : null;
  const refuse = (cause: unknown): never => {
    throw new SluiceError('usage', `${path} cannot be written (${codeOf(cause)}).`, {
      cause,
      next: 'Name a file in a writable folder, or omit --out to print the result.',
    });
  };
  const create = async () => {
    if (part === null) return open(place, 'w');
    await rm(part, { force: true });
    // Never through a link: the folder may be shared, and the name can be guessed.
    const created = await open(part, 'wx', OWN);
    if (replaced) await created.chmod(replaced.mode & 0o777);
    return created;
  };
  const file = await create().catch(refuse);
  let isComplete = false;
  return {
    write: (text: string | Uint8Array): Promise<void> => file.appendFile(text).catch(refuse),
    async complete(): Promise<void> {
      await file.close();
      if (part !== null) await rename(part, place).catch(refuse);
      isComplete = true;
    },
    /** Removes what was written, unless it is complete. */
    async close(): Promise<void> {
      if (isComplete) return;
      await file.close().catch(() => undefined);
      if (part !== null) await rm(part, { force: true });
    },
  };
}
