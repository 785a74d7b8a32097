import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { codeOf, SluiceError } from '../../errors.ts';
import type { Format } from '../../service/query/csv.ts';
import type { ColumnInfo, TextRow } from '../../warehouse/reports/read-query.ts';

/** A file that appears under its name only once it is complete. */
interface ResultFile {
  write(part: string | Uint8Array): Promise<void>;
  complete(): Promise<void>;
  /** Removes what was written, unless it is complete. */
  close(): Promise<void>;
}

/** Rows of a warehouse are nobody else's business, unless a file that is replaced was shared. */
const OWN = 0o600;

export interface RowFile extends Pick<ResultFile, 'complete' | 'close'> {
  write(columns: readonly ColumnInfo[], rows: readonly TextRow[]): Promise<void>;
}

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

/** Kind `usage` where the file cannot be created. */
export async function openResultFile(path: string): Promise<ResultFile> {
  const part = `${path}.part-${process.pid}`;
  let file: FileHandle;
  try {
    await rm(part, { force: true });
    // Never through a link: the folder may be shared, and the name can be guessed.
    file = await open(part, 'wx', OWN);
    const replaced = await stat(path).catch(() => null);
    if (replaced?.isFile()) await file.chmod(replaced.mode & 0o777);
  } catch (cause) {
    throw unwritable(path, cause);
  }
  let isComplete = false;
  return {
    write: part =>
      file.appendFile(part).catch((cause: unknown) => {
        throw unwritable(path, cause);
      }),
    async complete() {
      await file.close();
      await rename(part, path).catch((cause: unknown) => {
        throw unwritable(path, cause);
      });
      isComplete = true;
    },
    async close() {
      if (isComplete) return;
      await file.close().catch(() => undefined);
      await rm(part, { force: true });
    },
  };
}

const unwritable = (path: string, cause: unknown): SluiceError =>
  new SluiceError('usage', `${path} cannot be written (${codeOf(cause)}).`, {
    cause,
    next: 'Name a file in a writable folder, or omit --out to print the result.',
  });
