import { rm } from 'node:fs/promises';
import { openEmbedded, stopEmbedded } from '../../src/embedded-postgres/embedded-server.ts';
import { createLog } from '../../src/log.ts';
import { type Database, openDatabase } from '../../src/warehouse/database/database.ts';
import { makeServerFolder } from '../support/postgres.ts';

const log = createLog({ level: 'warn' });

/** Brackets a data folder in which the command line starts an embedded server of its own. */
export async function withDataDir(fn: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await makeServerFolder();
  try {
    await fn(dataDir);
  } finally {
    await stopEmbedded(dataDir);
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The embedded server's database, started where it does not run. */
export async function openWarehouse(dataDir: string): Promise<{ database: Database; close: () => Promise<void> }> {
  const { url } = await openEmbedded({ dataDir, log });
  const database = await openDatabase({ url, applicationName: 'test', log });
  return { database, close: () => database.close() };
}
