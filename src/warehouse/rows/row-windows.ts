import { type RawBuilder, sql } from 'kysely';
import type { DateSlice } from '../../engine/slices/slice.ts';
import type { Db } from '../database/database.ts';
import type { Place } from '../ledgers/place.ts';
import type { Table } from './tables.ts';

/**
 * Rows that do not show their date are known by the narrowest window that was asked for and returned them. It stands in for the
 * date: such a row lies in every slice whose question would have returned it, too.
 */
const inWindow = (alias: string, window: DateSlice): RawBuilder<boolean> => {
  const from = sql.ref(`${alias}.date_from`);
  const last = sql`cast(${window.to ?? 'infinity'} as date)`;
  // That it begins before the end follows from that it ends there; said, it bounds the search by the index.
  return sql`${from} >= cast(${window.from ?? '-infinity'} as date) and ${from} <= ${last} and ${sql.ref(`${alias}.date_to`)} <= ${last}`;
};

/** Which stored rows `t` lie in what was asked for. */
export const keptIn = (place: Place, table: Table, asked: DateSlice): RawBuilder<boolean> => sql`exists (
  select from sluice.row_windows w where w.source = ${place.source} and w.resource = ${place.resource}
    and cast(w.key as ${sql.raw(table.key.type)}) = t.${sql.id(table.key.name)} and ${inWindow('w', asked)})`;

/**
 * Notes the window that returned these rows at `seenAt`. A narrower one that is known stays, unless the row has moved: then it was
 * missing, or the two do not meet.
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

/** Of these rows, how many another window returned that does not meet this one. */
export async function countElsewhere(tx: Db, place: Place, keys: readonly string[], asked: DateSlice): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from sluice.row_windows w where source = ${place.source} and resource = ${place.resource}
      and key = any(cast(${keys} as text[])) and (w.date_to < cast(${asked.from ?? '-infinity'} as date)
        or w.date_from > cast(${asked.to ?? 'infinity'} as date))`.execute(tx);
  return rows[0]?.count ?? 0;
}

export async function forgetWindows(tx: Db, place: Place, keys: readonly string[]): Promise<void> {
  await sql`delete from sluice.row_windows where source = ${place.source} and resource = ${place.resource}
    and key = any(cast(${keys} as text[]))`.execute(tx);
}

/** Rows that were last returned before `since` for days that no slice asks for as they were, or for none. */
export async function shownByNone(tx: Db, place: Place, table: Table, since: string): Promise<string[]> {
  const key = sql.id(table.key.name);
  // Many rows share few windows: only these are held against the coverage.
  const { rows } = await sql<{ key: string }>`
    with old as (select key, date_from, date_to from sluice.row_windows
      where source = ${place.source} and resource = ${place.resource} and seen_at < cast(${since} as timestamptz)),
    unasked as (select date_from, date_to from (select distinct date_from, date_to from old) d
      where not exists (select from sluice.coverage c where c.source = ${place.source} and c.resource = ${place.resource}
        and c.slice like 'date %' and d.date_from >= c.date_from - 1 and d.date_to <= c.date_to + 1))
    select t.${key}::text as key from ${sql.id(table.schema, table.name)} t
    where t._read_at < cast(${since} as timestamptz) and (
      exists (select from old join unasked using (date_from, date_to) where old.key = t.${key}::text)
      or not exists (select from sluice.row_windows w where w.source = ${place.source} and w.resource = ${place.resource}
        and w.key = t.${key}::text))`.execute(tx);
  return rows.map(row => row.key);
}
