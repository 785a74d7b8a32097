import { rm } from 'node:fs/promises';
import { openEmbedded, stopEmbedded } from '../../src/embedded-postgres/embedded-server.ts';
import { isKind } from '../../src/errors.ts';
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

const MOST_ATTEMPTS = 20;

/** Queries the embedded server's database, which each query starts again and connects to where it was killed. */
export async function withWarehouse(dataDir: string, fn: (database: Database) => Promise<void>): Promise<void> {
  let opened = openWarehouse(dataDir);
  let isOver = false;
  const attempt = async (
    ask: (database: Database) => Promise<unknown>,
    attemptsLeft = MOST_ATTEMPTS,
  ): Promise<unknown> => {
    const mine = opened;
    try {
      return await ask((await mine).database);
    } catch (error) {
      if (!isKind(error, 'database') || attemptsLeft === 0 || isOver) throw error;
      if (opened === mine)
        opened = mine
          .then(({ close }) => close())
          .then(
            () => openWarehouse(dataDir),
            () => openWarehouse(dataDir),
          );
      return attempt(ask, attemptsLeft - 1);
    }
  };
  try {
    await fn({ query: (...given) => attempt(database => database.query(...given)) } as Database);
  } finally {
    isOver = true;
    await (await opened).close();
  }
}
