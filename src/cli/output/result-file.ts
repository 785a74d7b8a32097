import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { codeOf, SluiceError } from '../../errors.ts';

/** A file that appears under its name only once it is complete. */
export interface ResultFile {
  write(text: string): Promise<boolean>;
  complete(): Promise<void>;
  /** Removes what was written, unless it is complete. */
  close(): Promise<void>;
}

/** Kind `usage` where the file cannot be created. */
export async function openResultFile(path: string): Promise<ResultFile> {
  const part = `${path}.part-${process.pid}`;
  let file: FileHandle;
  try {
    file = await open(part, 'w');
  } catch (cause) {
    throw unwritable(path, cause);
  }
  let isComplete = false;
  return {
    async write(text) {
      await file.appendFile(text).catch((cause: unknown) => {
        throw unwritable(path, cause);
      });
      return true;
    },
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
