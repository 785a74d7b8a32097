import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { exactNumbers } from '../database/exact-numbers.ts';
import { epochMs } from '../database/now.ts';
import type { Place } from '../ledgers/sources.ts';
import type { ChildTable, Table } from '../rows/tables.ts';

// SQL: the tables are known at run time.

/** The columns of a row as JSON holds them; numbers of `numeric` and `bigint` are exact texts. */
export type StoredValues = Readonly<Record<string, unknown>>;

/** A stored row as it is now. Null where there is none. */
export async function readStoredRow(db: Db, table: Table, key: string): Promise<StoredValues | null> {
  const { rows } = await sql<{ row: StoredValues }>`
    select ${exactNumbers('to_json(t)', '_hash')} as row
    from ${sql.id(table.schema, table.name)} t where t.${sql.id(table.key.name)} = cast(${key} as ${sql.raw(table.key.type)})`.execute(
    db,
  );
  return rows[0]?.row ?? null;
}

/** The child rows of a stored row, in their order. */
export async function readChildRows(db: Db, table: Table, child: ChildTable, key: string): Promise<StoredValues[]> {
  const { rows } = await sql<{ row: StoredValues }>`
    select ${exactNumbers('to_json(t)', child.parent)} as row
    from ${sql.id(table.schema, child.name)} t where t.${sql.id(child.parent)} = cast(${key} as ${sql.raw(table.key.type)}) order by line`.execute(
    db,
  );
  return rows.map(({ row }) => row);
}

/** A version of a row that is no longer the current one. */
export interface EndedVersion {
  readonly row: StoredValues;
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly endedBy: 'deleted' | 'changed';
  readonly runId: string | null;
}

/** Newest first. SQL: a table of each schema. */
export async function readEndedVersions(db: Db, table: Table, key: string, most: number): Promise<EndedVersion[]> {
  const { rows } = await sql<EndedVersion>`
    select ${exactNumbers('row::json', '_hash')} as row, ${epochMs('valid_from')} as from, ${epochMs('valid_to')} as to, ended_by as "endedBy", run_id::text as "runId"
    from ${sql.id(table.schema, 'row_history')} where resource = ${table.name} and key = ${key}
    order by valid_to desc limit ${most}`.execute(db);
  return rows;
}

/** The run, and as long as it is kept the request, that brought something at a moment. */
export interface Arrival {
  readonly runId: string | null;
  readonly kind: string | null;
  readonly purpose: string | null;
}

/** `at`: when the request was granted (epoch ms), as `_read_at` tells. SQL: look-ups by time. */
export async function readArrival(db: Db, { source, resource }: Place, at: string): Promise<Arrival> {
  const { rows } = await sql<Arrival>`
    with request as (
      select q.run_id, q.purpose from sluice.requests q
      where q.source = ${source} and q.granted_at = cast(${at} as timestamptz) and q.purpose like ${`${resource} %`} limit 1),
    run as (
      select r.id, r.kind from sluice.runs r
      where r.id = (select run_id from request)
        or (not exists (select from request where run_id is not null) and r.source = ${source} and r.resource = ${resource}
          and r.started_at <= cast(${at} as timestamptz) and coalesce(r.ended_at, 'infinity') >= cast(${at} as timestamptz))
      order by r.id desc limit 1)
    select (select id::text from run) as "runId", (select kind from run) as kind, (select purpose from request) as purpose`.execute(
    db,
  );
  return rows[0] ?? { runId: null, kind: null, purpose: null };
}
