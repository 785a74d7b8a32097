import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/place.ts';

/**
 * Empties the pushed lines of a record: those that became its row, and those without a row that hold one of its `contacts` or `names`. Lines
 * of `unlisted` resources never have a row: they are emptied by `contacts`. Hashes and states stay. Returns how many were emptied. SQL: it
 * looks into JSON.
 */
export async function eraseLines(
  tx: Db,
  { source, resource }: Place,
  record: { key: string; contacts: readonly string[]; names: readonly string[]; unlisted: readonly string[] },
): Promise<number> {
  const { key, contacts, names, unlisted } = record;
  const holds = (marks: readonly string[]) => sql`exists (select from jsonb_each_text(i.body) b
    where lower(trim(b.value)) = any(cast(${marks.map(mark => mark.toLowerCase())} as text[])))`;
  const { numAffectedRows } = await sql`
    update sluice.push_items i set body = '{}', message = null, row_key = null, source_id = null
    where source = ${source} and (
      resource = ${resource} and (row_key = ${key} or source_id = ${key})
      or resource = ${resource} and row_key is null and ${holds([...contacts, ...names])}
      or resource = any(cast(${unlisted} as text[])) and ${holds(contacts)})`.execute(tx);
  return Number(numAffectedRows ?? 0);
}
