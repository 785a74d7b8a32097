import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedStatus, openEmbedded, stopEmbedded } from '../../src/embedded-postgres/embedded-server.ts';
import { createLog } from '../../src/log.ts';
import { type Database, openDatabase } from '../../src/warehouse/database/database.ts';
import { adminOf } from '../../test/support/postgres.ts';

export interface Postgres {
  /** As the owner, as Sluice connects. */
  readonly url: string;
  /** As the login that may only read, once it was granted that. */
  readonly readerUrl: string;
  readonly database: Database;
  /** The superuser: its statements can be told apart from Sluice's, and it may write server files. */
  readonly admin: Database;
  /** The id of the server process. */
  readonly pid: number;
  /** A folder in which the server may write files. */
  readonly folder: string;
  /** Bytes of WAL written so far. */
  readonly walBytes: () => Promise<number>;
  close(): Promise<void>;
}

/** Starts the included Postgres, with its usual settings, in a temporary folder. */
export async function openPostgres(settings: Readonly<Record<string, string>> = {}): Promise<Postgres> {
  const log = createLog({ level: 'warn' });
  const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  // As root, the server runs as an unprivileged user, who must be able to enter the folder.
  await chmod(home, 0o755);
  const stop = async () => {
    await stopEmbedded(home);
    await rm(home, { recursive: true, force: true });
  };
  try {
    const { url, readerUrl } = await openEmbedded({ dataDir: home, log, settings });
    const { pid = 0 } = await embeddedStatus(home);
    const database = await openDatabase({ url, applicationName: 'bench', log });
    const admin = await openDatabase({ url: await adminOf(url, home), applicationName: 'bench', log, max: 1 });
    const { rows } = await admin.query<{ data_directory: string }>('show data_directory');
    return {
      url,
      readerUrl,
      database,
      admin,
      pid,
      folder: rows[0]?.data_directory ?? '',
      async walBytes() {
        const { rows } = await admin.query<{ bytes: number }>(
          `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as bytes`,
        );
        return rows[0]?.bytes ?? 0;
      },
      async close() {
        await Promise.all([database.close(), admin.close()]);
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
