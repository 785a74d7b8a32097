import { sql } from 'kysely';
import { parseSlice, type Slice, sliceText } from '../../engine/slices/slice.ts';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { NOW } from '../database/now.ts';
import type { Place } from './sources.ts';

/** Waiting hints of one resource. More would only say that much has changed, which slots find anyway. */
const MOST_OPEN = 50;
/** A resource is read for hints at most this often, so that a flood of them costs a few requests. */
const REST_SECONDS = 10;

/** Bounds what hints may cost: in any quarter of the window, a tenth of what the limit refills in it. */
export interface HintLimit {
  /** Requests per window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
}

/** Notes for whoever reads the source that slices may have changed; repeated hints count once. SQL: it numbers and counts in one statement. */
export async function leaveHints(
  db: Db,
  hints: readonly { source: string; resource: string; slice: string }[],
): Promise<void> {
  await sql`
    insert into sluice.hints (source, resource, slice, since)
    select source, resource, slice, sluice.now() from (
      select source, resource, slice, row_number() over (partition by source, resource) as number
      from (select distinct source, resource, slice
        from jsonb_to_recordset(cast(${JSON.stringify(hints)} as jsonb)) as d(source text, resource text, slice text)) n) n
    where number + (select count(*) from sluice.hints h where h.source = n.source and h.resource = n.resource) <= ${MOST_OPEN}
    on conflict do nothing`.execute(db);
}

/** Returns slices that were hinted at and not read. A window is left to the next slot. */
export async function returnHints(db: Db, place: Place, slices: readonly Slice[]): Promise<void> {
  const windows = slices.filter(slice => slice.by === 'date').map(sliceText);
  await db
    .updateTable('sluice.coverage')
    .set({ due_since: NOW, due_reason: 'a hint' })
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .where('slice', '=', anyOf(windows))
    .execute();
  const hints = slices
    .filter(slice => slice.by !== 'date')
    .map(slice => ({ ...place, slice: sliceText(hintOf(slice)) }));
  if (hints.length > 0) await leaveHints(db, hints);
}

/** An id range is hinted at by its row, or by the newest end of the list. */
function hintOf(slice: Slice): Slice {
  if (slice.by !== 'id') return slice;
  return slice.to === null ? { by: 'newest' } : { by: 'one', key: String(slice.to) };
}

/**
 * Resources whose hints may be read for now. Runs ahead of now predate a backward clock step and are ignored. SQL: three windows over
 * the runs.
 */
export async function dueHints(db: Db, source: string, { limit, windowMs }: HintLimit): Promise<string[]> {
  const { rows } = await sql<{ resource: string }>`
    select resource from sluice.hints h where source = ${source}
      and not exists (select from sluice.runs r where r.source = h.source and r.resource = h.resource and r.kind = 'hint'
        and r.ended_at is null and r.state = 'waiting' and r.waiting_until > sluice.now())
      and not exists (select from sluice.runs r where r.source = h.source and r.resource = h.resource
        and (r.ended_at is null or r.ended_at > sluice.now() - make_interval(secs => ${windowMs / 4000}))
        and r.kind = 'hint' and r.started_at between sluice.now() - make_interval(secs => ${REST_SECONDS}) and sluice.now())
      and ${Math.max(limit / 40, 1)} > (select coalesce(sum(requests), 0) from sluice.runs r where r.source = h.source
        and r.kind = 'hint' and (r.ended_at is null
          or r.ended_at between sluice.now() - make_interval(secs => ${windowMs / 4000}) and sluice.now()))
    group by resource order by resource`.execute(db);
  return rows.map(row => row.resource);
}

/** Removes and returns the hints of a resource. A later hint is a new one: the reading that begins may miss what it points to. */
export async function takeHints(db: Db, place: Place): Promise<Slice[]> {
  const rows = await db
    .deleteFrom('sluice.hints')
    .where('source', '=', place.source)
    .where('resource', '=', place.resource)
    .returning('slice')
    .execute();
  return rows.map(row => parseSlice(row.slice));
}
