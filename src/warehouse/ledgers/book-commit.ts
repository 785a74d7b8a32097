import { sql } from 'kysely';
import type { Transaction } from '../database/database.ts';
import { epochMs, type SeenTime } from '../database/now.ts';
import { type CoverageChange, coverageCtes } from './coverage.ts';
import { type Cursor, type CursorMove, cursorCtes, stale } from './cursors.ts';
import { type RunCounts, runCtes } from './runs.ts';
import { type Trait, traitCtes } from './traits.ts';

/** What a commit changes in the books of one resource. */
export interface Booking extends CursorMove, CoverageChange {
  /** What was observed of the list. */
  readonly learnt: readonly Omit<Trait, 'resource'>[];
  readonly counts: readonly RunCounts[];
}

/**
 * Advances cursors, replaces coverage, stores traits and adds to runs and orders, as the last of a transaction; where nothing else was written, as a
 * transaction of its own. Returns the new cursors in the same order. Throws kind `stale` when another process has taken over one of them, or
 * the clock of the database was put back; then nothing is booked. SQL: one statement for everything.
 */
export async function bookCommit(
  tx: Transaction,
  source: string,
  bookings: readonly Booking[],
  seenTime: SeenTime,
): Promise<Cursor[]> {
  seenTime.check();
  const note = seenTime.asking();
  const isOurs = sql<boolean>`(select holds from ours)`;
  const { rows } = await sql<{ at: number; resource: string | null; version: string | null }>`
    with ${cursorCtes(source, bookings, seenTime.latest)}, ${coverageCtes(source, bookings, isOurs)},
      ${traitCtes(source, learntIn(bookings), isOurs)},
      ${runCtes(
        bookings.flatMap(({ counts }) => counts),
        isOurs,
      )}
    select ${epochMs('o.now')} as at, l.resource, m.version from ours o left join locked l on true left join moved m using (resource)`.execute(
    tx.alone,
  );
  note(rows[0]?.at ?? Number.POSITIVE_INFINITY);
  const versions = new Map(rows.map(({ resource, version }) => [resource, version]));
  const lost = bookings.find(({ resource }) => !versions.has(resource));
  const unmoved = lost ?? bookings.find(({ resource }) => versions.get(resource) === null);
  if (unmoved) {
    // Where all cursors are ours, it was the clock.
    if (!lost) seenTime.check();
    throw stale({ source, resource: unmoved.resource });
  }
  return bookings.map(({ resource, from, readings, isProven }) => ({
    version: versions.get(resource) as string,
    isLogged: from.isLogged || isProven,
    readings,
  }));
}

const learntIn = (bookings: readonly Booking[]): Trait[] =>
  bookings.flatMap(({ resource, learnt }) => learnt.map(trait => ({ ...trait, resource })));
