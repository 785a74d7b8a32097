import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { SECOND } from '../clock.ts';
import { SluiceError } from '../errors.ts';
import { startError } from './errors.ts';
import { codeOf } from './files.ts';
import { NAME } from './initdb.ts';
import { isPostmaster, readPidFile } from './pid.ts';
import { HOST } from './port.ts';
import { START_TIMEOUT_MS } from './start.ts';

/** The URL of the running server after a successful connection; undefined when none runs. Waits out a start or a stop. */
export async function attach(home: string): Promise<string | undefined> {
  const patience = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const pidFile = await readPidFile(home);
    if (!pidFile || !(await isPostmaster(pidFile.pid, home))) return undefined;
    const url = pidFile.ready ? await greet(home, pidFile.port) : undefined;
    if (url) return url;
    if (Date.now() > patience) throw await startError(home, 0, '');
    await delay(100);
  }
}

/** Connects, and makes the database if it is not there yet; undefined while the server starts or stops. */
async function greet(home: string, port: number): Promise<string | undefined> {
  const password = (await readFile(join(home, 'password'), 'utf8')).trim();
  const urlOf = (database: string) => `postgres://${NAME}:${password}@${HOST}:${port}/${database}`;
  for (const database of [NAME, 'postgres', NAME]) {
    const client = new pg.Client({ connectionString: urlOf(database), connectionTimeoutMillis: 10 * SECOND });
    client.on('error', () => undefined);
    try {
      await client.connect();
      if (database === NAME) return urlOf(NAME);
      // 42P04: another process has just made it.
      await client.query(`create database ${NAME}`).catch(error => {
        if (codeOf(error) !== '42P04') throw error;
      });
    } catch (error) {
      // 3D000 no such database (yet); 57P03 starting or stopping; a server that goes away refuses or resets.
      const code = codeOf(error);
      if (code === '3D000') continue;
      if (code === '57P03' || code === '57P01' || code === 'ECONNREFUSED' || code === 'ECONNRESET') return undefined;
      throw new SluiceError(
        'database',
        `The embedded Postgres on port ${port} runs but refuses us (${code ?? 'no answer'}).`,
        {
          next: `See ${join(home, 'server.log')}; "sluice stop-db" stops it.`,
          cause: error,
        },
      );
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return undefined;
}
