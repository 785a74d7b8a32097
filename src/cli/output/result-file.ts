import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { codeOf, SluiceError } from '../../errors.ts';

/** A file that appears under its name only once it is complete. */
interface ResultFile {
  write(part: string | Uint8Array): Promise<boolean>;
  complete(): Promise<void>;
  /** Removes what was written, unless it is complete. */
  close(): Promise<void>;
}

/** Rows of a warehouse are nobody else's business, unless a file that is replaced was shared. */
const OWN = 0o600;

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
    async write(part) {
      await file.appendFile(part).catch((cause: unknown) => {
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
