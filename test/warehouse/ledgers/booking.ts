import type { Database } from '../../../src/warehouse/database/database.ts';
import { createSeenTime } from '../../../src/warehouse/database/now.ts';
import { type Booking, bookCommit } from '../../../src/warehouse/ledgers/book-commit.ts';
import { type Cursor, takeCursors } from '../../../src/warehouse/ledgers/cursors.ts';
import type { RunCounts } from '../../../src/warehouse/ledgers/runs.ts';

/** What a commit that changes nothing else books. */
export const aBooking = (resource: string, from: Cursor, change: Partial<Booking> = {}): Booking => ({
  resource,
  from,
  readings: {},
  position: 'id 1..10',
  runId: null,
  isProven: false,
  removed: [],
  put: [],
  learnt: [],
  counts: [],
  ...change,
});

export async function takeCursor(database: Database, resource: string): Promise<Cursor> {
  const cursor = (await takeCursors(database.kysely, 'main', [resource])).get(resource);
  if (!cursor) throw new Error('no cursor');
  return cursor;
}

/** Commits what was done for runs. */
export async function bookCounts(database: Database, resource: string, counts: readonly RunCounts[]): Promise<void> {
  const from = await takeCursor(database, resource);
  await database.transaction(tx => bookCommit(tx, 'main', [aBooking(resource, from, { counts })], createSeenTime()));
}
