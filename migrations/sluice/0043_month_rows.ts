import type { Kysely } from 'kysely';
import { createMonthRows } from '../create-month-rows.ts';

/** A value that its column cannot hold stays in `_extra`, and counts there. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createMonthRows(db);
}
