import { setTimeout as delay } from 'node:timers/promises';
import { SECOND } from '../../clock.ts';
import type { Database } from '../database/database.ts';

/**
 * Ends the query of the session `pid`, which has the login of `database`: cancels it and, since a query may trap that, ends the session
 * a second later, unless `over` aborts before. Sent over a connection of its own: queries like it may hold all of the pool.
 */
export async function endQuery(database: Database, pid: number | undefined, over: AbortSignal): Promise<void> {
  const client = await database.connect('sluice stop');
  try {
    if (over.aborted) return;
    await client.query('select pg_cancel_backend($1)', [pid]);
    await delay(SECOND, undefined, { signal: over }).catch(() => undefined);
    if (!over.aborted) await client.query('select pg_terminate_backend($1)', [pid]);
  } finally {
    await client.end().catch(() => undefined);
  }
}
