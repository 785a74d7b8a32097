import { type RawBuilder, sql } from 'kysely';
import type { DateSlice } from '../../engine/slices/slice.ts';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/sources.ts';
import { STORED_AT, type StoredKey } from './stored-rows.ts';
import type { Table } from './tables.ts';

/**
 * Rows without a date are located by the narrowest requested window that returned them. It stands in for the date: such a row lies in
 * every slice whose request would have returned it too.
 */
const inWindow = (alias: string, window: DateSlice): RawBuilder<boolean> => {
  const from = sql.ref(`${alias}.date_from`);
  const last = sql`cast(${window.to ?? 'infinity'} as date)`;
  // The second condition follows from the third, and bounds the search in the index.
  return sql`${from} >= cast(${window.from ?? '-infinity'} as date) and ${from} <= ${last} and ${sql.ref(`${alias}.date_to`)} <= ${last}`;
};

/** Selects the stored rows `t` that lie in the requested window. */
export const keptIn = (place: Place, table: Table, asked: DateSlice): RawBuilder<boolean> => sql`exists (
  select from sluice.row_windows w where w.source = ${place.source} and w.resource = ${place.resource}
    and cast(w.key as ${sql.raw(table.key.type)}) = t.${sql.id(table.key.name)} and ${inWindow('w', asked)})`;

/**
 * Records the window that returned these rows at `seenAt`. A known narrower one stays unless the row has moved: it was missing, or the
 * two windows do not overlap. SQL: one array parameter, and an upsert with a condition.
 */
export async function keepWindows(
  tx: Db,
  place: Place,
  keys: readonly string[],
  asked: DateSlice,
  seenAt: string,
): Promise<void> {
  if (keys.length === 0) return;
  const from = sql`cast(${asked.from ?? '-infinity'} as date)`;
  const to = sql`cast(${asked.to ?? 'infinity'} as date)`;
  await sql`
    insert into sluice.row_windows as w (source, resource, key, date_from, date_to, seen_at)
    select ${place.source}, ${place.resource}, k, ${from}, ${to}, cast(${seenAt} as timestamptz)
    from (select distinct k from unnest(cast(${keys} as text[])) k) named
    on conflict (source, resource, key) do update set date_from = excluded.date_from, date_to = excluded.date_to, seen_at = excluded.seen_at
    where (w.date_from <= excluded.date_from and w.date_to >= excluded.date_to
        and (w.date_from < excluded.date_from or w.date_to > excluded.date_to))
      or w.date_to < excluded.date_from or w.date_from > excluded.date_to
      or exists (select from sluice.missing m where m.source = w.source and m.resource = w.resource and m.key = w.key)`.execute(
    tx,
  );
}

export async function windowsOf(db: Db, place: Place, keys: readonly string[]): Promise<DateSlice[]> {
  const finite = (column: 'date_from' | 'date_to') =>
    sql<string | null>`case when isfinite(${sql.ref(column)}) then ${sql.ref(column)}::text end`;
  const windows = await db
    .selectFrom('sluice.row_windows')
    .select([finite('date_from').as('from'), finite('date_to').as('to')])
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .where('key', '=', anyOf(keys))
    .execute();
  return windows.map(window => ({ by: 'date', ...window }));
}

/** How many of these rows were returned by a window that does not overlap this one. */
export async function countElsewhere(tx: Db, place: Place, keys: readonly string[], asked: DateSlice): Promise<number> {
  const { count } = await tx
    .selectFrom('sluice.row_windows')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .where('key', '=', anyOf(keys))
    .where(eb => eb.or([eb('date_to', '<', asked.from ?? '-infinity'), eb('date_from', '>', asked.to ?? 'infinity')]))
    .executeTakeFirstOrThrow();
  return count;
}

export async function forgetWindows(tx: Db, place: Place, keys: readonly string[]): Promise<void> {
  await tx
    .deleteFrom('sluice.row_windows')
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .where('key', '=', anyOf(keys))
    .execute();
}

/** Rows last returned before `since` by a window that no slice covers any more, or by none. SQL: a table known at run time. */
export async function shownByNone(tx: Db, place: Place, table: Table, since: string): Promise<StoredKey[]> {
  const key = sql.id(table.key.name);
  // Many rows share few windows: only these are compared with the coverage.
  const { rows } = await sql<StoredKey>`
    with old as (select key, date_from, date_to from sluice.row_windows
      where source = ${place.source} and resource = ${place.resource} and seen_at < cast(${since} as timestamptz)),
    unasked as (select date_from, date_to from (select distinct date_from, date_to from old) d
      where not exists (select from sluice.coverage c where c.source = ${place.source} and c.resource = ${place.resource}
        and c.slice like 'date %' and d.date_from >= c.date_from - 1 and d.date_to <= c.date_to + 1))
    select t.${key}::text as key, ${STORED_AT} from ${sql.id(table.schema, table.name)} t
    where t._read_at < cast(${since} as timestamptz) and (
      exists (select from old join unasked using (date_from, date_to) where old.key = t.${key}::text)
      or not exists (select from sluice.row_windows w where w.source = ${place.source} and w.resource = ${place.resource}
        and w.key = t.${key}::text))`.execute(tx);
  return rows;
}
