import { sql } from 'kysely';
import { parseSlice, type Slice, sliceText } from '../../engine/slices/slice.ts';
import type { Db } from '../database/database.ts';
import type { Place } from './place.ts';

/** Hints of one resource that wait at the same time. Beyond it they tell no more than that much has changed, which slots find. */
const MOST_OPEN = 50;
/** A resource is read for hints at most this often, so that a flood of them is answered by a few requests. */
const REST_SECONDS = 10;

/** What may be spent on hints: in any quarter of the window, a tenth of what the limit refills in it. */
export interface HintLimit {
  /** Requests per window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
}

/** Leaves word for whoever reads the source that a slice may have changed. The same word twice is one. */
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

/** Gives back slices that hints pointed to and nobody read. A window is left to the next slot. */
export async function returnHints(db: Db, place: Place, slices: readonly Slice[]): Promise<void> {
  const windows = slices.filter(slice => slice.by === 'date').map(sliceText);
  await sql`update sluice.coverage set due_since = sluice.now(), due_reason = 'a hint' where source = ${place.source}
    and resource = ${place.resource} and slice = any(cast(${windows} as text[]))`.execute(db);
  const hints = slices
    .filter(slice => slice.by !== 'date')
    .map(slice => ({ ...place, slice: sliceText(hintOf(slice)) }));
  if (hints.length > 0) await leaveHints(db, hints);
}

/** A range of ids is pointed to by its row, or as where the list grows. */
function hintOf(slice: Slice): Slice {
  if (slice.by !== 'id') return slice;
  return slice.to === null ? { by: 'newest' } : { by: 'one', key: String(slice.to) };
}

/** Resources of the source with hints that may be read for now. Runs ahead of now are of a clock that was put back, and count for nothing. */
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

/** Takes the hints of a resource out. What is hinted from now on is another hint, since it may be news to the reading that begins. */
export async function takeHints(db: Db, place: Place): Promise<Slice[]> {
  const { rows } = await sql<{ slice: string }>`
    delete from sluice.hints where source = ${place.source} and resource = ${place.resource} returning slice`.execute(
    db,
  );
  return rows.map(row => parseSlice(row.slice));
}
