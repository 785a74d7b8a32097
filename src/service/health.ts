import { type Clock, SECOND } from '../clock.ts';
import { explain } from '../errors.ts';
import type { Database } from '../warehouse/database/database.ts';

/** What every loop of the process says from time to time: that it still goes round. */
export interface Pulse {
  /** `loop` went round: it looked for work, committed something, or waits for the request limit. */
  beat(loop: string): void;
  /** `loop` has nothing to do, or another process does it: its silence is no sign from now on. */
  rest(loop: string): void;
  /** The loops that have been silent for too long. */
  stuck(): string[];
}

/**
 * `limitMs`: the longest that a loop at work may be silent; a request with all its retries has to fit. `now`, in milliseconds, must not
 * jump: the time of day may, and a restart would be asked for.
 */
export function createPulse(limitMs: number, now: () => number = () => performance.now()): Pulse {
  const beats = new Map<string, number>();
  return {
    beat: loop => void beats.set(loop, now()),
    rest: loop => void beats.delete(loop),
    stuck: () => [...beats].filter(([, at]) => now() - at > limitMs).map(([loop]) => loop),
  };
}

/** A probe asks every few seconds and gives up early: it is told so before. */
const PATIENCE_MS = 4 * SECOND;

/**
 * Why the service is not ready, or null: the database answers and holds the tables this code needs. Probes that come while one
 * is being answered share its answer, so that they cost the database nothing.
 */
export function createReadiness(options: {
  database: Database;
  pending: () => Promise<readonly string[]>;
  clock: Clock;
}): () => Promise<string | null> {
  const { database, pending, clock } = options;
  const look = async (): Promise<string | null> => {
    try {
      await database.query('select 1');
      const missing = await pending();
      return missing.length === 0 ? null : `Migrations are missing: ${missing.join(', ')}. Next: sluice migrate`;
    } catch (error) {
      return explain(error);
    }
  };
  let looking: Promise<string | null> | undefined;
  return async () => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    const over = new AbortController();
    const late = clock.sleep(PATIENCE_MS, over.signal).then(
      () => 'The database does not answer in time.',
      () => null,
    );
    try {
      return await Promise.race([looking, late]);
    } finally {
      over.abort();
    }
  };
}
