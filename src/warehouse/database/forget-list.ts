import { type RawBuilder, sql } from 'kysely';
import type { Db } from './database.ts';

const FORGOTTEN = [
  'sluice.coverage',
  'sluice.answers',
  'sluice.row_windows',
  'sluice.missing',
  'sluice.held',
  'sluice.losses',
  'sluice.rewrites',
  'sluice.traits',
  'sluice.quarantine',
  'sluice.seen_keys',
] as const;

/**
 * Forgets what is known of a list at these sources: all of it is to be read anew. The cursor stays, with a new version, so that no earlier
 * reader can write. Runs, slots and requests stay as a record of what was done.
 */
export async function forgetList(tx: Db, sources: RawBuilder<string>, resource: string): Promise<void> {
  for (const table of FORGOTTEN)
    await tx.deleteFrom(table).where('source', 'in', sources).where('resource', '=', resource).execute();
  await tx
    .updateTable('sluice.cursors')
    .set({ version: sql<string>`version + 1`, readings: '{}', position: null, logs_since: null })
    .where('source', 'in', sources)
    .where('resource', '=', resource)
    .execute();
}

/** What runs, orders and incidents say of examples. SQL: a condition on each of these tables. */
export async function forgetExamples(tx: Db, here: RawBuilder<unknown>): Promise<void> {
  for (const [table, column] of Object.entries({ runs: 'reason', orders: 'reason', incidents: 'message' }))
    await sql`update ${sql.id('sluice', table)} set ${sql.id(column)} = regexp_replace(${sql.id(column)}, 'Examples: .*', '(Examples erased.)')
      where ${here} and ${sql.id(column)} like '%Examples: %'`.execute(tx);
}
