import { hash } from 'node:crypto';
import type { Db } from '../database/database.ts';
import { NOW } from '../database/now.ts';
import type { Place } from '../ledgers/sources.ts';

/** Proof that a record was erased. It holds nothing of the record but a hash of its key. */
export interface Erasure {
  readonly id: string;
  readonly keyHash: string;
  /** Rows erased or emptied, by table. */
  readonly counts: Readonly<Record<string, number>>;
  readonly erasedAt: string;
  readonly erasedBy: string;
}

/** SHA-256 of the source, the resource and the key, with a blank between them. */
const keyHashOf = ({ source, resource }: Place, key: string): string => hash('sha256', `${source} ${resource} ${key}`);

export async function writeReceipt(
  tx: Db,
  place: Place,
  erased: { key: string; counts: Readonly<Record<string, number>>; by: string },
): Promise<Erasure> {
  const { key, counts, by } = erased;
  const keyHash = keyHashOf(place, key);
  const { id, erased_at: erasedAt } = await tx
    .insertInto('sluice.erasures')
    .values({ ...place, key_hash: keyHash, counts: JSON.stringify(counts), erased_at: NOW, erased_by: by })
    .returning(['id', 'erased_at'])
    .executeTakeFirstOrThrow();
  return { id, keyHash, counts, erasedAt, erasedBy: by };
}

/** When a record with this key was last erased; null if none was. */
export async function lastErased(db: Db, place: Place, key: string): Promise<string | null> {
  const row = await db
    .selectFrom('sluice.erasures')
    .select('erased_at')
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .where('key_hash', '=', keyHashOf(place, key))
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.erased_at ?? null;
}
