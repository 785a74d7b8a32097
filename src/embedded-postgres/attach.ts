import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { SECOND } from '../clock.ts';
import { codeOf, SluiceError } from '../errors.ts';
import { passwordFile, readIfPresent, serverLog } from './home-files.ts';
import { DATABASE } from './initdb.ts';
import { HOST } from './port.ts';
import { findPostmaster } from './postmaster-pid.ts';
import { startError } from './server-errors.ts';
import { START_TIMEOUT_MS } from './server-process.ts';

/** The URL of the running server after a successful connection, undefined if none runs. Waits while it starts or stops. */
export async function attach(home: string): Promise<string | undefined> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const server = await findPostmaster(home);
    if (!server) return undefined;
    const url = server.ready ? await tryConnect(home, server.port) : undefined;
    if (url) return url;
    if (Date.now() > deadline) throw await startError(home);
    await delay(100);
  }
}

/** Connects, and creates the database if it does not exist yet. Undefined while the server starts or stops. */
async function tryConnect(home: string, port: number): Promise<string | undefined> {
  const password = (await readIfPresent(passwordFile(home)))?.trim() ?? '';
  const urlOf = (database: string) => `postgres://${DATABASE}:${password}@${HOST}:${port}/${database}`;
  for (const database of [DATABASE, 'postgres', DATABASE]) {
    const client = new pg.Client({ connectionString: urlOf(database), connectionTimeoutMillis: 10 * SECOND });
    client.on('error', () => undefined);
    try {
      await client.connect();
      if (database === DATABASE) return urlOf(DATABASE);
      // 42P04: another process has just created it.
      await client.query(`create database ${DATABASE}`).catch(error => {
        if (codeOf(error) !== '42P04') throw error;
      });
    } catch (error) {
      const code = codeOf(error);
      // 3D000: the database does not exist yet.
      if (code === '3D000') continue;
      // 57P03, 57P01: starting or stopping; a server that has just exited refuses or resets the connection.
      if (code === '57P03' || code === '57P01' || code === 'ECONNREFUSED' || code === 'ECONNRESET') return undefined;
      throw new SluiceError(
        'database',
        `The embedded Postgres on port ${port} runs, but rejects connections (${code || 'no answer'}).`,
        { next: `See ${serverLog(home)}, or stop it with "sluice stop-db".`, cause: error },
      );
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return undefined;
}
