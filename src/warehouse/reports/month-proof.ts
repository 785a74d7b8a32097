import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/sources.ts';
import type { Table } from '../rows/tables.ts';

/** Whether these days of a list are proven, and the day in its zone since when all of them are. */
export interface DaysProof {
  readonly isComplete: boolean;
  readonly day: string;
}

/** By list, of those of which anything was read. SQL: a function. */
export async function provenDays(
  db: Db,
  source: string,
  { from, to }: { readonly from: string; readonly to: string },
  timeZone: string,
): Promise<ReadonlyMap<string, DaysProof>> {
  const { rows } = await sql<DaysProof & { resource: string }>`
    select resource, complete as "isComplete", coalesce((as_of at time zone ${timeZone})::date::text, '') as day
    from sluice.complete(cast(${from} as date), cast(${to} as date)) where source = ${source}`.execute(db);
  return new Map(rows.map(({ resource, ...proof }) => [resource, proof]));
}

/** How many rows of a month are missing, or hold a value that the source shows empty. SQL: a table known at run time. */
export async function countDoubtful(
  db: Db,
  { source, resource }: Place,
  table: Table,
  { dateField, month }: { readonly dateField: string; readonly month: string },
): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select count(*)::int as rows from ${sql.id(table.schema, table.name)} t
    where t.${sql.id(table.key.name)} in (
        select cast(d.key as ${sql.raw(table.key.type)}) from (
          select source, resource, key from sluice.missing union select source, resource, key from sluice.held) d
        where d.source = ${source} and d.resource = ${resource})
      and to_char(t.${sql.id(dateField)}, 'YYYY-MM') = ${month}`.execute(db);
  return rows[0]?.rows ?? 0;
}
