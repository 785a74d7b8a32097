import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/place.ts';
import type { Table } from './tables.ts';

/** A list whose rows lie in months by this date. */
export interface DatedTable extends Place {
  readonly table: Table;
  readonly field: string;
}

/**
 * How many stored rows lie in which months (`YYYY-MM`), and when the last of them changed (epoch ms). A row without a date lies somewhere in the
 * window that returned it, or anywhere: null is an open end. SQL: tables known at run time.
 */
export async function rowsByMonth(
  db: Db,
  lists: readonly DatedTable[],
): Promise<{ from: string | null; to: string | null; rows: number; changedAt: number }[]> {
  if (lists.length === 0) return [];
  const month = (day: string) => sql`case when isfinite(${sql.ref(day)}) then left(${sql.ref(day)}::text, 7) end`;
  const days = lists.map(({ source, resource, table, field }) => {
    const date = sql.ref(`t.${field}`);
    return sql`
      select coalesce(${date}, w.date_from) as first, coalesce(${date}, w.date_to) as last, t._synced_at
      from ${sql.id(table.schema, table.name)} t
      left join sluice.row_windows w on ${date} is null
        and w.source = ${source} and w.resource = ${resource} and w.key = t.${sql.id(table.key.name)}::text`;
  });
  const { rows } = await sql<{ from: string | null; to: string | null; rows: number; changedAt: number }>`
    select ${month('first')} as from, ${month('last')} as to, count(*)::float8 as rows,
      floor(extract(epoch from max(_synced_at)) * 1000)::float8 as "changedAt"
    from (${sql.join(days, sql` union all `)}) as summed group by 1, 2`.execute(db);
  return rows;
}
