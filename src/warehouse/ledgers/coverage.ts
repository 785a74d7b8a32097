import { sql } from 'kysely';
import { parseSlice, type Slice, sliceText } from '../../engine/slices/slice.ts';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import type { Place } from './place.ts';

/** What is known of one slice: as of when it is proven, what its readings cost and what they found. */
export interface Entry {
  readonly slice: Slice;
  /** Epoch milliseconds of the grant of the first request of the last reading that proved it; null: never read in full. */
  readonly provenAt: number | null;
  /** The last reading of any kind, for slices that prove no range. */
  readonly readAt: number | null;
  /** Requests the last reading cost. */
  readonly requests: number;
  readonly rows: number | null;
  /** Rows found new, different or gone at re-readings, and the hours between those; both decay. */
  readonly changed: number;
  readonly hoursWatched: number;
  /** A hint makes it due now. */
  readonly dueSince: number | null;
  readonly dueReason: string | null;
}

/** Why a list was never read that the source was asked for and has not. */
export const NOT_OFFERED = 'not offered by this source';

/** Of rows of `sluice.coverage`: the source has no such list. */
export const notOffered = sql<boolean>`coalesce(bool_or(proven_at is null and due_reason = ${NOT_OFFERED}), false)`;

/** Of rows of `sluice.coverage`: the slices that prove a range, and so together cover the resource. */
export const covering = sql.raw(`(slice = 'whole' or slice like 'date %' or slice like 'id %')`);

const stamp = (value: string) => sql.raw(`to_timestamp(${value} / 1000.0)`);

export async function readCoverage(db: Db, place: Place): Promise<Entry[]> {
  const { rows } = await sql<Omit<Entry, 'slice' | 'rows'> & { slice: string; rows: string | null }>`
    select slice, ${epochMs('proven_at')} as "provenAt", ${epochMs('read_at')} as "readAt", requests, rows, changed,
      hours_watched as "hoursWatched", ${epochMs('due_since')} as "dueSince", due_reason as "dueReason"
    from sluice.coverage where source = ${place.source} and resource = ${place.resource}`.execute(db);
  return rows.map(row => ({ ...row, slice: parseSlice(row.slice), rows: row.rows === null ? null : Number(row.rows) }));
}

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
    await sql`delete from sluice.coverage where source = ${place.source} and resource = ${place.resource}
      and slice = any(cast(${gone} as text[]))`.execute(tx);
  }
  if (put.length === 0) return;
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
