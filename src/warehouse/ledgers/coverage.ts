import { type RawBuilder, sql } from 'kysely';
import { type Entry, NOT_OFFERED } from '../../engine/slices/coverage-entry.ts';
import { parseSlice, type Slice, sliceText } from '../../engine/slices/slice.ts';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import type { Place } from './sources.ts';

/** Aggregates rows of `sluice.coverage`: the source has no such list. */
export const notOffered = sql<boolean>`coalesce(bool_or(proven_at is null and due_reason = ${NOT_OFFERED}), false)`;

/** Selects from `sluice.coverage` the slices that prove a range; together they cover the resource. */
export const covering = sql.raw(`(slice = 'whole' or slice like 'date %' or slice like 'id %')`);

const stamp = (value: string) => sql.raw(`to_timestamp(${value} / 1000.0)`);

export async function readCoverage(db: Db, { source, resource }: Place): Promise<Entry[]> {
  return (await readSourceCoverage(db, source, [resource])).get(resource) ?? [];
}

/** By resource; without those that were never read. `among`: of these resources only. */
export async function readSourceCoverage(
  db: Db,
  source: string,
  among?: readonly string[],
): Promise<Map<string, Entry[]>> {
  const found = new Map<string, Entry[]>();
  const rows = entriesOf(db, source).select('resource');
  for (const { resource, ...row } of await (among ? rows.where('resource', 'in', among) : rows).execute()) {
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

/** What replaces what in the coverage of a resource. */
export interface CoverageChange {
  readonly resource: string;
  readonly removed: readonly Slice[];
  readonly put: readonly Entry[];
}

/** Replaces `removed` by `put` in the ledger of slices. */
export async function writeCoverage(
  tx: Db,
  { source, resource }: Place,
  removed: readonly Slice[],
  put: readonly Entry[],
): Promise<void> {
  if (removed.length + put.length > 0)
    await sql`with ${coverageCtes(source, [{ resource, removed, put }])} select`.execute(tx);
}

/** CTEs that replace coverage on a condition. Date bounds are stored with `infinity` for an open end. SQL: thousands of slices in one parameter. */
export function coverageCtes(
  source: string,
  changes: readonly CoverageChange[],
  condition: RawBuilder<boolean> = sql`true`,
): RawBuilder<unknown> {
  const gone = changes.flatMap(({ resource, removed, put }) => {
    const kept = new Set(put.map(entry => sliceText(entry.slice)));
    return removed.map(slice => ({ resource, slice: sliceText(slice) })).filter(({ slice }) => !kept.has(slice));
  });
  const put = changes.flatMap(({ resource, put: entries }) =>
    entries.map(entry => ({ ...entry, ...bounds(entry.slice), resource, slice: sliceText(entry.slice) })),
  );
  return sql`
    uncovered as (
      delete from sluice.coverage c
      using jsonb_to_recordset(cast(${JSON.stringify(gone)} as jsonb)) as g(resource text, slice text)
      where ${condition} and c.source = ${source} and c.resource = g.resource and c.slice = g.slice),
    covered as (
      insert into sluice.coverage as c (source, resource, slice, date_from, date_to, id_from, id_to, proven_at, read_at,
        requests, rows, changed, hours_watched, due_since, due_reason)
      select ${source}, resource, slice, "dateFrom", "dateTo", "idFrom", "idTo", ${stamp('"provenAt"')}, ${stamp('"readAt"')},
        requests, rows, changed, "hoursWatched", ${stamp('"dueSince"')}, "dueReason"
      from jsonb_to_recordset(cast(${JSON.stringify(put)} as jsonb)) as d(resource text, slice text, "dateFrom" date, "dateTo" date,
        "idFrom" bigint, "idTo" bigint, "provenAt" float8, "readAt" float8, requests int, rows bigint, changed float8,
        "hoursWatched" float8, "dueSince" float8, "dueReason" text)
      where ${condition}
      on conflict (source, resource, slice) do update set proven_at = excluded.proven_at, read_at = excluded.read_at,
        requests = excluded.requests, rows = excluded.rows, changed = excluded.changed, hours_watched = excluded.hours_watched,
        due_since = excluded.due_since, due_reason = excluded.due_reason)`;
}

function bounds(slice: Slice) {
  if (slice.by === 'date') return { dateFrom: slice.from ?? '-infinity', dateTo: slice.to ?? 'infinity' };
  if (slice.by === 'id') return { idFrom: slice.from?.toString() ?? null, idTo: slice.to?.toString() ?? null };
  return {};
}
