import { access, rename, symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { embeddedStatus, stopEmbedded } from '../../src/embedded-postgres/embedded-server.ts';
import { openWarehouse } from './own-server.ts';

/**
 * Lets the disk under one table be full: its file becomes /dev/full, where the system refuses every write with ENOSPC, for any
 * user and without a file system of its own. Returns what makes space again. The table has to be empty.
 */
export async function fillDisk(dataDir: string, table: string): Promise<() => Promise<void>> {
  await access('/dev/full');
  const { home } = await embeddedStatus(dataDir);
  const { database, close } = await openWarehouse(dataDir);
  const { rows } = await database.query<{ path: string }>('select pg_relation_filepath($1::regclass) as path', [table]);
  await close();
  const file = join(home, 'data', rows[0]?.path as string);
  await stopEmbedded(dataDir);
  await rename(file, `${file}.kept`);
  await symlink('/dev/full', file);
  return async () => {
    await stopEmbedded(dataDir);
    await unlink(file);
    await rename(`${file}.kept`, file);
  };
}
