import { sql } from 'kysely';
import type { Db } from './database.ts';

/** Marks the point that `rollbackTo` returns to. A name used again hides its older point. */
export async function savepoint(tx: Db, name: string): Promise<void> {
  await sql`savepoint ${sql.id(name)}`.execute(tx);
}

/** Undoes what the transaction wrote since the savepoint; the transaction is usable again after a failed statement. */
export async function rollbackTo(tx: Db, name: string): Promise<void> {
  await sql`rollback to savepoint ${sql.id(name)}`.execute(tx);
}
