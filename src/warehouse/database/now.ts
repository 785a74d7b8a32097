import { type RawBuilder, sql } from 'kysely';
import { SluiceError } from '../../errors.ts';
import type { Database, Db } from './database.ts';

/** The clock that all durable time comes from. */
export const NOW = sql<string>`sluice.now()`;

export const fromNow = (ms: number): RawBuilder<string> =>
  sql`sluice.now() + make_interval(secs => ${ms / 1000}::float8)`;

export const daysAgo = (days: number): RawBuilder<string> =>
  sql`sluice.now() - make_interval(days => ${days}::integer)`;

/** The moment is not ahead of the clock, by its index. What is was noted before the clock was put back, and would seem the newest until it has caught up. */
export const notAhead = (column: string): RawBuilder<boolean> => sql`${sql.ref(column)} <= (select sluice.now())`;

/** A `timestamptz` expression as epoch milliseconds. It becomes part of the statement, so it must never come from outside. */
export const epochMs = <T extends number | null = number | null>(expression: string): RawBuilder<T> =>
  sql.raw(`(extract(epoch from ${expression}) * 1000)::float8`);

/** The moment by the clock that all durable time comes from, in epoch milliseconds. */
export const databaseNow = (database: Database): Promise<number> => readNow(database.kysely);

/** The same moment, for statements of a transaction that tell it more than once. */
export async function readNow(db: Db): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${epochMs('sluice.now()')} as now`.execute(db);
  return (rows[0] as { now: number }).now;
}

/**
 * What a reader of a source has seen of the clock of the database. Once that was put back, what it reads seems older than what it has stored:
 * an older read never replaces a newer one, and a slice would be proven without what it showed.
 */
export interface SeenTime {
  /** Forgets what was seen before. */
  restart(now: number): void;
  /** Call it before the database is asked, and the result with the time of its answer (epoch ms): others may be answered in between. */
  asking(): (now: number) => void;
  /** The latest that was seen (epoch ms). */
  readonly latest: number;
  readonly wasPutBack: boolean;
  /** Throws kind `stale` if the clock was put back. */
  check(): void;
}

export function createSeenTime(): SeenTime {
  let latest = Number.NEGATIVE_INFINITY;
  let wasPutBack = false;
  // Texts of Postgres are read to the millisecond.
  const isBefore = (now: number, other: number) => Math.floor(now) < Math.floor(other);
  return {
    restart(now) {
      latest = now;
      wasPutBack = false;
    },
    asking() {
      const before = latest;
      return now => {
        wasPutBack ||= isBefore(now, before);
        latest = Math.max(latest, now);
      };
    },
    get latest() {
      return latest;
    },
    get wasPutBack() {
      return wasPutBack;
    },
    check() {
      if (wasPutBack)
        throw new SluiceError('stale', 'The clock of the database was put back; nothing more was written.', {
          next: 'Nothing to do: the reading begins again from the last commit.',
        });
    },
  };
}
