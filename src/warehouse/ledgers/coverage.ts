import { sql } from 'kysely';
import { type Entry, NOT_OFFERED } from '../../engine/slices/coverage-entry.ts';
import { parseSlice, type Slice, sliceText } from '../../engine/slices/slice.ts';
import { anyOf } from '../database/any-of.ts';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import type { Place } from './place.ts';

/** Aggregates rows of `sluice.coverage`: the source has no such list. */
export const notOffered = sql<boolean>`coalesce(bool_or(proven_at is null and due_reason = ${NOT_OFFERED}), false)`;

/** Selects from `sluice.coverage` the slices that prove a range; together they cover the resource. */
export const covering = sql.raw(`(slice = 'whole' or slice like 'date %' or slice like 'id %')`);

const stamp = (value: string) => sql.raw(`to_timestamp(${value} / 1000.0)`);

export async function readCoverage(db: Db, place: Place): Promise<Entry[]> {
  const rows = await entriesOf(db, place.source).where('resource', '=', place.resource).execute();
  return rows.map(parseEntry);
}

/** By resource; without those that were never read. */
export async function readSourceCoverage(db: Db, source: string): Promise<Map<string, Entry[]>> {
  const found = new Map<string, Entry[]>();
  for (const { resource, ...row } of await entriesOf(db, source).select('resource').execute()) {
    const entries = found.get(resource) ?? [];
    entries.push(parseEntry(row));
    found.set(resource, entries);
  }
  return found;
}

const entriesOf = (db: Db, source: string) =>
  db
    .selectFrom('sluice.coverage')
    .select(['slice', 'requests', 'rows', 'changed', 'hours_watched as hoursWatched', 'due_reason as dueReason'])
    .select([epochMs('proven_at').as('provenAt'), epochMs('read_at').as('readAt'), epochMs('due_since').as('dueSince')])
    .where('source', '=', source);

const parseEntry = (row: Awaited<ReturnType<ReturnType<typeof entriesOf>['execute']>>[number]): Entry => ({
  ...row,
  slice: parseSlice(row.slice),
  rows: row.rows === null ? null : Number(row.rows),
});

/** Replaces `removed` by `put` in the ledger of slices. Date bounds are stored with `infinity` for an open end. */
export async function writeCoverage(
  tx: Db,
  place: Place,
  removed: readonly Slice[],
  put: readonly Entry[],
): Promise<void> {
  const kept = new Set(put.map(entry => sliceText(entry.slice)));
  const gone = removed.map(sliceText).filter(text => !kept.has(text));
  if (gone.length > 0) {
    await tx
      .deleteFrom('sluice.coverage')
      .where('source', '=', place.source)
      .where('resource', '=', place.resource)
      .where('slice', '=', anyOf(gone))
      .execute();
  }
  if (put.length > 0) await putEntries(tx, place, put);
}

/** SQL: thousands of slices in one parameter. */
async function putEntries(tx: Db, place: Place, put: readonly Entry[]): Promise<void> {
  const data = put.map(entry => ({ ...entry, ...bounds(entry.slice), slice: sliceText(entry.slice) }));
  await sql`
    insert into sluice.coverage as c (source, resource, slice, date_from, date_to, id_from, id_to, proven_at, read_at,
      requests, rows, changed, hours_watched, due_since, due_reason)
    select ${place.source}, ${place.resource}, slice, "dateFrom", "dateTo", "idFrom", "idTo", ${stamp('"provenAt"')}, ${stamp('"readAt"')},
      requests, rows, changed, "hoursWatched", ${stamp('"dueSince"')}, "dueReason"
    from jsonb_to_recordset(cast(${JSON.stringify(data)} as jsonb)) as d(slice text, "dateFrom" date, "dateTo" date, "idFrom" bigint,
      "idTo" bigint, "provenAt" float8, "readAt" float8, requests int, rows bigint, changed float8, "hoursWatched" float8,
      "dueSince" float8, "dueReason" text)
    on conflict (source, resource, slice) do update set proven_at = excluded.proven_at, read_at = excluded.read_at,
      requests = excluded.requests, rows = excluded.rows, changed = excluded.changed, hours_watched = excluded.hours_watched,
      due_since = excluded.due_since, due_reason = excluded.due_reason`.execute(tx);
}

function bounds(slice: Slice) {
  if (slice.by === 'date') return { dateFrom: slice.from ?? '-infinity', dateTo: slice.to ?? 'infinity' };
  if (slice.by === 'id') return { idFrom: slice.from?.toString() ?? null, idTo: slice.to?.toString() ?? null };
  return {};
}
