import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import { type CoverageChange, coverageCtes } from './coverage.ts';
import { type Cursor, type CursorMove, cursorCtes, moveWholeKeys, stale } from './cursors.ts';
import { type RunCounts, runCtes } from './runs.ts';

/** What a commit changes in the books of one resource. */
export interface Booking extends CursorMove, CoverageChange {
  readonly counts: readonly RunCounts[];
}

/**
 * Advances cursors, replaces coverage and adds to runs and orders, in the transaction that writes the rows. Returns the new cursors in the
 * same order, and when that was (epoch ms). Throws kind `stale` when another process has taken over one of them. SQL: one statement for everything.
 */
export async function bookCommit(
  tx: Db,
  source: string,
  bookings: readonly Booking[],
): Promise<{ cursors: Cursor[]; at: number }> {
  const { rows } = await sql<{ resource: string; version: string; at: number }>`
    with ${cursorCtes(source, bookings)}, ${coverageCtes(source, bookings)},
      ${runCtes(bookings.flatMap(({ counts }) => counts))}
    select resource, version, ${epochMs('committed_at')} as at from moved`.execute(tx);
  const versions = new Map(rows.map(({ resource, version }) => [resource, version]));
  const moved: Cursor[] = [];
  for (const { resource, from, readings } of bookings) {
    const version = versions.get(resource);
    if (version === undefined) throw stale({ source, resource });
    await moveWholeKeys(tx, { source, resource }, from, readings);
    moved.push({ version, readings });
  }
  return { cursors: moved, at: rows[0]?.at ?? Number.POSITIVE_INFINITY };
}
