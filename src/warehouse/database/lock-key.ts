import { sql } from 'kysely';
import type { Db } from './database.ts';

/** What an advisory lock protects; each is a namespace of keys. Processes of other versions use the same words, so they must stay. */
type LockKind = 'migrate' | 'source' | 'incidents' | 'fuse' | 'receivers';

/** The parameter of `LOCK_KEY`. `name` tells locks of one kind apart. */
export const lockName = (kind: LockKind, name?: string): string =>
  name === undefined ? `sluice ${kind}` : `sluice ${kind} ${name}`;

/** SQL for the key of every advisory lock: 64 bits, because among 10,000 names two share 32 bits in 1.2% of installations. */
export const LOCK_KEY = 'hashtextextended($1::text, 0)';

/** Waits for the lock and holds it until the transaction ends. */
export async function lockForTransaction(tx: Db, kind: LockKind, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${lockName(kind, name)}::text, 0))`.execute(tx);
}
