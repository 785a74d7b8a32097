import { type RawBuilder, sql } from 'kysely';
import { arrayOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import type { Place } from '../ledgers/sources.ts';
import type { Table } from './tables.ts';

// SQL throughout: the tables are known at run time.

export interface StoredKey {
  readonly key: string;
  /** When it was last inserted or updated (epoch ms). */
  readonly storedAt: number;
}

/** `StoredKey.storedAt` of the stored rows `t`. */
export const STORED_AT = sql`${epochMs('t._synced_at')} as "storedAt"`;

export async function readStoredAt(db: Db, table: Table, keys: readonly string[]): Promise<StoredKey[]> {
  const { rows } = await sql<StoredKey>`select k.key::text as key, ${STORED_AT}
    from unnest(${arrayOf(table.key.type, keys)}) as k(key)
    join ${sql.id(table.schema, table.name)} t on t.${sql.id(table.key.name)} = k.key`.execute(db);
  return rows;
}

/** Stored rows, and how many of them answers brought since the reading began. */
interface RowCount {
  readonly rows: number;
  readonly changed: number;
}

/** Counts the stored rows `t` that meet the condition, and those of them read since `startedAt`. */
export async function countRows(
  db: Db,
  table: Table,
  condition: RawBuilder<boolean> | null,
  startedAt: string | null = null,
): Promise<RowCount> {
  const [count] = await countEach(db, table, [condition], startedAt);
  return count as RowCount;
}

/** Counts in one statement; Postgres plans more only slowly. */
const COUNTED_AT_ONCE = 50;

/** The same for each of the conditions, in their order. */
export async function countEach(
  db: Db,
  table: Table,
  conditions: readonly (RawBuilder<boolean> | null)[],
  startedAt: string | null = null,
): Promise<RowCount[]> {
  const counts: RowCount[] = [];
  for (let from = 0; from < conditions.length; from += COUNTED_AT_ONCE) {
    const each = conditions.slice(from, from + COUNTED_AT_ONCE).map(
      (condition, index) => sql`
        select ${sql.lit(index)} as index, count(*)::int as rows,
          (count(*) filter (where t._read_at >= cast(${startedAt} as timestamptz)))::int as changed
        from ${sql.id(table.schema, table.name)} t where ${condition ?? sql`true`}`,
    );
    const { rows } = await sql<RowCount & { index: number }>`${sql.join(each, sql` union all `)}`.execute(db);
    for (const { index, ...count } of rows) counts[from + index] = count;
  }
  return counts;
}

/** How the stored rows of a slice compare with what a reading of it showed. */
export interface Compared extends RowCount {
  /** Rows that the reading did not show, and that no newer one brought. */
  readonly left: StoredKey[];
}

/** Compares the stored rows `t` that meet the condition with a reading whose first request was granted at `startedAt`; null: whatever brought them. */
export async function compareRows(
  db: Db,
  table: Table,
  condition: RawBuilder<boolean>,
  seen: readonly string[],
  startedAt: string | null = null,
): Promise<Compared> {
  const key = sql.id(table.key.name);
  const { rows } = await sql<Omit<Compared, 'left'> & { left: StoredKey[] | null }>`
    select count(*)::int as rows, (count(*) filter (where isNew))::int as changed,
      json_agg(json_build_object('key', key::text, 'storedAt', "storedAt")) filter (where not isNew and not is_seen) as left
    from (
      select t.${key} as key, ${STORED_AT}, coalesce(t._read_at >= cast(${startedAt} as timestamptz), false) as isNew, s.key is not null as is_seen
      from ${sql.id(table.schema, table.name)} t
      left join (select distinct unnest(${arrayOf(table.key.type, seen)}) as key) s on s.key = t.${key}
      where ${condition}) compared`.execute(db);
  const { left, ...counts } = rows[0] ?? { left: null, rows: 0, changed: 0 };
  return { ...counts, left: left ?? [] };
}

/** Stored rows of each day from `from` on that has any. */
export async function countByDay(
  db: Db,
  table: Table,
  dateField: string,
  { from, to }: { readonly from: string | null; readonly to: string | null },
): Promise<Map<string, number>> {
  const day = sql`t.${sql.id(dateField)}`;
  const { rows } = await sql<{ day: string; rows: number }>`
    select ${day}::text as day, count(*)::int as rows from ${sql.id(table.schema, table.name)} t
    where ${day} between cast(${from ?? '-infinity'} as date) and cast(${to ?? 'infinity'} as date) group by ${day}`.execute(
    db,
  );
  return new Map(rows.map(each => [each.day, each.rows]));
}

/** How many of these rows were inserted or updated by answers since `startedAt`. */
export async function countBrought(db: Db, table: Table, keys: readonly string[], startedAt: string): Promise<number> {
  if (keys.length === 0) return 0;
  const isOne = sql<boolean>`t.${sql.id(table.key.name)} = any(${arrayOf(table.key.type, keys)})`;
  return (await countRows(db, table, isOne, startedAt)).changed;
}

/** How many of these rows last changed at `at` (epoch ms) or before. */
export async function countUnchanged(db: Db, table: Table, keys: readonly string[], at: number): Promise<number> {
  const { rows } = await sql<{
    count: number;
  }>`select count(*)::int as count from unnest(${arrayOf(table.key.type, keys)}) as k(key)
    join ${sql.id(table.schema, table.name)} t on t.${sql.id(table.key.name)} = k.key
    where t._read_at < to_timestamp((${at}::float8 + 1) / 1000)`.execute(db);
  return rows[0]?.count ?? 0;
}

/** The values of a column in the stored rows of these keys, by key, as text, without nulls. */
export async function valuesOf(
  db: Db,
  table: Table,
  column: string,
  keys: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ key: string; value: string | null }>`
    select k.key::text as key, t.${sql.id(column)}::text as value from unnest(${arrayOf(table.key.type, keys)}) as k(key)
    join ${sql.id(table.schema, table.name)} t on t.${sql.id(table.key.name)} = k.key`.execute(db);
  return new Map(rows.flatMap(({ key, value }) => (value === null ? [] : [[key, value]])));
}

/** The keys of a table that is known to be short. */
export async function storedKeys(db: Db, table: Table): Promise<string[]> {
  const { rows } = await sql<{
    key: string;
  }>`select ${sql.id(table.key.name)}::text as key from ${sql.id(table.schema, table.name)}`.execute(db);
  return rows.map(row => row.key);
}

/** How many stored rows precede `id` in the order of ids. */
export async function rankOf(db: Db, table: Table, id: bigint, descending: boolean): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from ${sql.id(table.schema, table.name)}
    where ${sql.id(table.id.name)} ${sql.raw(descending ? '>' : '<')} cast(${id.toString()} as bigint)`.execute(db);
  return rows[0]?.count ?? 0;
}

/** A sum of a column over the rows that have these values. */
export interface Sum {
  readonly of: string;
  readonly where: Readonly<Record<string, string>>;
}

/** Sums over the stored rows of a date range, by name, as exact decimal texts. */
export async function sumsOf(
  db: Db,
  table: Table,
  dateField: string,
  range: { from: string; to: string },
  sums: Readonly<Record<string, Sum>>,
): Promise<Record<string, string>> {
  const added = Object.entries(sums).map(([name, { of, where }]) => {
    const conditions = Object.entries(where).map(([column, value]) => sql<boolean>`t.${sql.id(column)} = ${value}`);
    return sql`coalesce(sum(t.${sql.id(of)}) filter (where ${sql.join([sql`true`, ...conditions], sql` and `)}), 0)::text as ${sql.id(name)}`;
  });
  const { rows } = await sql<
    Record<string, string>
  >`select ${sql.join(added)} from ${sql.id(table.schema, table.name)} t
    where t.${sql.id(dateField)} between cast(${range.from} as date) and cast(${range.to} as date)`.execute(db);
  return rows[0] ?? {};
}

/** A list whose rows lie in months by this date. */
interface DatedTable extends Place {
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
