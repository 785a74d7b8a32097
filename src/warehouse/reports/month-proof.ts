import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { daysAgo } from '../database/now.ts';
import { notOffered } from '../ledgers/coverage.ts';
import { UNDO_DAYS } from '../ledgers/retention.ts';
import type { Place } from '../ledgers/sources.ts';
import type { Table } from '../rows/tables.ts';

/** Whether these days of a list are proven, and the day in its zone since when all of them are. */
export interface DaysProof {
  readonly isComplete: boolean;
  readonly day: string;
  /** The source does not offer the list. */
  readonly isAbsent: boolean;
}

/** By list, of those of which anything was read. SQL: a function. */
export async function provenDays(
  db: Db,
  source: string,
  { from, to }: { readonly from: string; readonly to: string },
  timeZone: string,
): Promise<ReadonlyMap<string, DaysProof>> {
  const { rows } = await sql<DaysProof & { resource: string }>`
    select p.resource, p.complete as "isComplete", coalesce((p.as_of at time zone ${timeZone})::date::text, '') as day,
      (select ${notOffered} from sluice.coverage c where c.source = p.source and c.resource = p.resource) as "isAbsent"
    from sluice.complete(cast(${from} as date), cast(${to} as date)) p where p.source = ${source}`.execute(db);
  return new Map(rows.map(({ resource, ...proof }) => [resource, proof]));
}

/** What is in doubt of the rows of a month. */
export interface MonthDoubts {
  /** Rows that are missing at the source, or hold a value that it shows empty. */
  readonly unsettled: number;
  /** Records in quarantine, without those of another month. */
  readonly quarantined: number;
  /** Slices of the month that are to be read again. */
  readonly due: number;
  /** Columns of which many values were replaced, and nobody has settled it. */
  readonly rewritten: number;
}

/** SQL: a table known at run time. */
export async function countDoubts(
  db: Db,
  { source, resource }: Place,
  table: Table,
  {
    dateField,
    month,
    from,
    to,
  }: { readonly dateField: string; readonly month: string; readonly from: string; readonly to: string },
): Promise<MonthDoubts> {
  const here = sql`source = ${source} and resource = ${resource}`;
  const dated = `"${dateField}"\\s*:\\s*"(\\d{4}-\\d{2})`;
  const { rows } = await sql<MonthDoubts>`
    select
      (select count(*)::int from ${sql.id(table.schema, table.name)} t
        where t.${sql.id(table.key.name)} in (select cast(key as ${sql.raw(table.key.type)}) from (
            select key from sluice.missing where ${here} union select key from sluice.held where ${here}) d)
          and to_char(t.${sql.id(dateField)}, 'YYYY-MM') = ${month}) as unsettled,
      (select count(*)::int from sluice.quarantine
        where ${here} and resolved_at is null and coalesce(substring(payload from ${dated}), ${month}) = ${month}) as quarantined,
      (select count(*)::int from sluice.coverage where ${here}
        and (slice = ${`total ${month}`} and due_reason is not null
          or date_from <= cast(${to} as date) and date_to >= cast(${from} as date) and due_since > proven_at)) as due,
      (select count(*)::int from sluice.rewrites where ${here} and ended_at is null and at > ${daysAgo(UNDO_DAYS)}) as rewritten`.execute(
    db,
  );
  return rows[0] as MonthDoubts;
}
