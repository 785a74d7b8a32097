import { sql } from 'kysely';
import type { Db } from './database.ts';

/** Marks the point in a transaction that `rollbackTo` goes back to. A name may be used again and then hides its older point. */
export async function savepoint(tx: Db, name: string): Promise<void> {
  await sql`savepoint ${sql.id(name)}`.execute(tx);
}

/** Undoes what the transaction wrote since the savepoint, which also heals it after a statement that failed. */
export async function rollbackTo(tx: Db, name: string): Promise<void> {
  await sql`rollback to savepoint ${sql.id(name)}`.execute(tx);
}

/** For a transaction that loads: stamps without a zone are read in `timeZone`; sequential scans are forbidden (see `rows.ts`). */
export async function beginLoad(tx: Db, timeZone: string): Promise<void> {
  await sql`select set_config('timezone', ${timeZone}, true), set_config('enable_seqscan', 'off', true)`.execute(tx);
}
