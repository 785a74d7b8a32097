import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, SluiceError } from '../errors.ts';

/**
 * Creates a folder and those above it; one that exists is left as it is. Node's `recursive` mkdir tries forever where a file system
 * answers ENOENT although the parent exists, as /proc does: it occupies a core, and the process cannot even be stopped.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  if (await tryMake(path, mode)) return;
  const parent = dirname(path);
  if (parent !== path) await makeFolder(parent, mode);
  if (await tryMake(path, mode)) return;
  throw new SluiceError('database', `The embedded Postgres needs ${path}, but no folder can be created there.`, {
    next: 'Set SLUICE_DATA_DIR to a writable folder, or set DATABASE_URL.',
  });
}

/** False if the system says that a folder above is absent. */
async function tryMake(path: string, mode: number | undefined): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    const code = codeOf(error);
    // EEXIST may also be a file; what uses the folder reports that.
    if (code === 'EEXIST') return true;
    if (code === 'ENOENT') return false;
    throw error;
  }
}
