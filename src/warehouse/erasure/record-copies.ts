import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/place.ts';
import { isQuarantined } from '../rows/quarantine.ts';
import type { Table } from '../rows/tables.ts';

/** What is known of a record without asking its source. */
export interface RecordState {
  readonly isStored: boolean;
  /** Stored, though the last reading of its slice lacked it. */
  readonly isMissing: boolean;
  /** In quarantine, and still shown by the source as far as known. */
  readonly isQuarantined: boolean;
}

/** SQL: tables known at run time. */
export async function readRecordState(db: Db, table: Table, place: Place, key: string): Promise<RecordState> {
  const { rows } = await sql<{ isStored: boolean; isMissing: boolean }>`
    select exists (select from ${sql.id(table.schema, table.name)} t where t.${sql.id(table.key.name)} = cast(${key} as ${sql.raw(table.key.type)})) as "isStored",
      exists (select from sluice.missing where source = ${place.source} and resource = ${place.resource} and key = ${key}) as "isMissing"`.execute(
    db,
  );
  const { isStored = false, isMissing = false } = rows[0] ?? {};
  return { isStored, isMissing, isQuarantined: await isQuarantined(db, place, key) };
}

/** Every stored version of a record: its row, deleted and earlier ones, pushed lines, and what is in quarantine, as JSON or as text. */
export async function readCopies(db: Db, table: Table, place: Place, key: string): Promise<unknown[]> {
  const { rows } = await sql<{ copy: unknown }>`
    select to_jsonb(t) as copy from ${sql.id(table.schema, table.name)} t where t.${sql.id(table.key.name)} = cast(${key} as ${sql.raw(table.key.type)})
    union all select row from ${sql.id(table.schema, 'row_history')} where resource = ${place.resource} and key = ${key}
    union all select to_jsonb(payload) from sluice.quarantine where source = ${place.source} and resource = ${place.resource} and key = ${key}
    union all select body from sluice.push_items where source = ${place.source} and resource = ${place.resource}
      and (row_key = ${key} or source_id = ${key})`.execute(db);
  return rows.map(({ copy }) => copy);
}
