import { type Clock, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { sharedRun } from '../shared-run.ts';

/** Below the timeout of common probes. */
const TIMEOUT_MS = 4 * SECOND;

/**
 * Resolves with why the service is not ready, or null: the database answers and holds the tables this version needs. Concurrent
 * probes share one check. Anybody may read the reason, so errors, which name the database, go to the log.
 */
export function createReadiness(options: {
  database: Database;
  pending: () => Promise<readonly string[]>;
  clock: Clock;
  log: Log;
}): () => Promise<string | null> {
  const { database, pending, clock, log } = options;
  let logged: string | null = null;
  const check = sharedRun(async (): Promise<string | null> => {
    try {
      await database.query('select 1');
      const names = await pending();
      logged = null;
      return names.length === 0 ? null : `Pending migrations: ${names.join(', ')}. Next: sluice migrate`;
    } catch (error) {
      const reason = explain(error);
      // Probes come every few seconds.
      if (reason !== logged) log.warn({ reason }, 'not ready: the database cannot be used');
      logged = reason;
      return 'The database cannot be used. The log says why.';
    }
  });
  return async () => {
    const over = new AbortController();
    const late = clock.sleep(TIMEOUT_MS, over.signal).then(
      () => 'The database did not answer in time.',
      () => null,
    );
    try {
      return await Promise.race([check(), late]);
    } finally {
      over.abort();
    }
  };
}
