import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import type { Place } from './place.ts';

/** What the reading of a whole list has seen so far: too much to be written with its cursor at every commit. SQL: one array parameter. */
export async function addWholeKeys(tx: Db, { source, resource }: Place, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await sql`insert into sluice.whole_keys (source, resource, key)
    select ${source}, ${resource}, k from unnest(cast(${keys} as text[])) k`.execute(tx);
}

export async function forgetWholeKeys(tx: Db, { source, resource }: Place): Promise<void> {
  await tx.deleteFrom('sluice.whole_keys').where('source', '=', source).where('resource', '=', resource).execute();
}

export async function readWholeKeys(db: Db, { source, resource }: Place): Promise<string[]> {
  const rows = await db
    .selectFrom('sluice.whole_keys')
    .select('key')
    .where('source', '=', source)
    .where('resource', '=', resource)
    .execute();
  return rows.map(row => row.key);
}
