import { type RawBuilder, sql } from 'kysely';
import { SluiceError } from '../../errors.ts';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import type { Place } from './sources.ts';
import { fromStored, type StoredKeys, toStored } from './stored-keys.ts';

/** Where the reading of one slice stands after its last commit. */
export interface ReadingState {
  /** The next page to ask for, from 1. */
  readonly page: number;
  /** Rows asked for per page; paging only adds up while it stays the same. */
  readonly limit: number;
  /** Keys seen so far. */
  readonly keys: readonly string[];
  /** Grant time of the slice's first request: the slice is proven as of then. */
  readonly startedAt: string;
  readonly totalPages: number | null;
  readonly totalRecords: number | null;
  /** The count has not moved so far. */
  readonly steady: boolean;
  /** Digest of the keys that the last pass over the pages showed, where another pass has to confirm it. */
  readonly before: string | null;
}

/** Prefix of the name of a slice that is read only for a report. */
export const REPORT = 'report ';

/** The one slice that may be longer than a few answers. Its keys are kept in `whole_keys`; `seen` is how many it must hold. */
const WHOLE = 'whole';
type StoredReading = Omit<ReadingState, 'keys'> & { readonly keys?: StoredKeys; readonly seen?: number };

/** The durable position of one resource: its version, and the slices being read, keyed by the text that names them. */
export interface Cursor {
  readonly version: string;
  readonly readings: Readonly<Record<string, ReadingState>>;
}

/**
 * Readings begun longer ago start again: what they saw is too old to prove anything together with the rest. A whole list is exempt:
 * it may need more requests than the limit gives in this time, and would never finish.
 */
const MAX_READING_SECONDS = 15 * 60;

/**
 * Takes over the cursors of these resources: a later commit by their previous reader finds the version moved and writes nothing. Only
 * the holder of the source's lock calls it. `leftAt`: the versions at which this process left them; throws kind `stale` where one has moved.
 * Locks rows in order of their names, as every commit does, to avoid deadlocks. SQL: one statement for all resources, with a filter inside
 * their JSON.
 */
export async function takeCursors(
  db: Db,
  source: string,
  resources: readonly string[],
  leftAt: Readonly<Record<string, string>> | null = null,
): Promise<Map<string, Cursor>> {
  const versions = leftAt === null ? null : JSON.stringify(leftAt);
  const { rows } = await sql<{ resource: string; version: string; readings: Record<string, StoredReading> }>`
    insert into sluice.cursors as c (source, resource)
    select ${source}, r from unnest(cast(${resources} as text[])) r order by r
    on conflict (source, resource) do update set version = c.version + 1, readings = (
      select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(c.readings)
      where key = ${WHOLE} or cast(value->>'startedAt' as timestamptz) > sluice.now() - make_interval(secs => ${MAX_READING_SECONDS}))
    where cast(${versions} as jsonb) is null or c.version = cast(cast(${versions} as jsonb)->>c.resource as bigint)
    returning resource, version, readings`.execute(db);
  const lost = resources.find(name => !rows.some(({ resource }) => resource === name));
  if (lost !== undefined) throw stale({ source, resource: lost });
  const cursors = new Map<string, Cursor>();
  for (const { resource, version, readings: stored } of rows) {
    const { [WHOLE]: whole, ...others } = stored;
    const readings: Record<string, ReadingState> = {};
    // What earlier versions stored says less, or in another form: such a reading begins again.
    for (const [slice, { keys, ...position }] of Object.entries(others))
      if (keys?.ids !== undefined && isOfThisVersion(position))
        readings[slice] = { ...position, keys: fromStored(keys) };
    if (whole) {
      const keys = await readWholeKeys(db, { source, resource });
      // A crash of Postgres empties their table, which is not logged: the reading begins again.
      if (keys.length === whole.seen && isOfThisVersion(whole)) readings[WHOLE] = { ...whole, keys };
      else await forgetWholeKeys(db, { source, resource });
    }
    cursors.set(resource, { version, readings });
  }
  return cursors;
}

const isOfThisVersion = ({ steady }: { readonly steady?: boolean }): boolean => steady !== undefined;

/** The version of each cursor of these sources. */
export function cursorVersions(db: Db, sources: readonly string[]): Promise<(Place & { readonly version: string })[]> {
  return db
    .selectFrom('sluice.cursors')
    .select(['source', 'resource', 'version'])
    .where('source', '=', anyOf(sources))
    .execute();
}

export const stale = ({ resource }: Place): SluiceError =>
  new SluiceError('stale', `Another process took over ${resource}; this one wrote nothing and stops.`, {
    next: 'Nothing to do: whoever reads next continues from the last commit.',
  });

/** Keeps others from taking over the cursor until the transaction ends. Throws kind `stale` when another process has. */
export async function lockCursor(tx: Db, { source, resource }: Place, { version }: Cursor): Promise<void> {
  const locked = await tx
    .selectFrom('sluice.cursors')
    .select('version')
    .where('source', '=', source)
    .where('resource', '=', resource)
    .where('version', '=', version)
    .forUpdate()
    .executeTakeFirst();
  if (!locked) throw stale({ source, resource });
}

/** What advances a cursor. */
export interface CursorMove {
  readonly resource: string;
  /** The cursor as this process left it. */
  readonly from: Cursor;
  readonly readings: Cursor['readings'];
  readonly position: string;
  readonly runId: string | null;
}

/**
 * CTEs that end in `locked` (the cursors that nobody else has moved), `ours` (`now`, and `holds`: those are all, and the clock shows at least
 * `latest`, in epoch ms) and `moved` (the new `version` of each; none unless `ours` holds).
 */
export function cursorCtes(source: string, cursors: readonly CursorMove[], latest: number): RawBuilder<unknown> {
  const moves = cursors.map(({ resource, from, readings, position, runId }) => ({
    resource,
    version: from.version,
    readings: toStoredReadings(readings),
    position,
    runId,
  }));
  return sql`
    locked as materialized (
      select c.resource, m.readings, m.position, m."runId" from sluice.cursors c
      join jsonb_to_recordset(cast(${JSON.stringify(moves)} as jsonb))
        as m(resource text, version bigint, readings jsonb, position text, "runId" bigint)
        on c.source = ${source} and c.resource = m.resource and c.version = m.version
      -- In the order of \`takeCursors\`.
      order by c.resource for update of c),
    -- What was granted after the clock was put back seems older than what is stored, and what was granted before is dated ahead.
    ours as materialized (
      select now, cursors = ${cursors.length} and ${epochMs('now')} >= ${Math.floor(latest)} as holds
      -- The clock is read once all are locked.
      from (select count(*) as cursors, sluice.now() as now from locked) seen),
    moved as (
      update sluice.cursors c
      set version = c.version + 1, readings = locked.readings, position = locked.position, committed_at = ours.now, run_id = locked."runId"
      from locked, ours where ours.holds and c.source = ${source} and c.resource = locked.resource
      returning c.resource, c.version)`;
}

/** What is stored of them. A report starts again in the next process. */
function toStoredReadings(readings: Cursor['readings']): Record<string, StoredReading> {
  const kept = Object.entries(readings).filter(([slice]) => !slice.startsWith(REPORT));
  return Object.fromEntries(
    kept.map(([slice, { keys, ...position }]) => [
      slice,
      slice === WHOLE ? { ...position, seen: keys.length } : { ...position, keys: toStored(keys) },
    ]),
  );
}

/** Whether `moveWholeKeys` may have something to write. */
export const hasWholeKeys = ({ from, readings }: Pick<CursorMove, 'from' | 'readings'>): boolean =>
  WHOLE in from.readings || WHOLE in readings;

/** Of a whole list, writes only the new keys: a reading appends its keys. */
export async function moveWholeKeys(
  tx: Db,
  place: Place,
  { readings: { [WHOLE]: from } }: Cursor,
  { [WHOLE]: to }: Cursor['readings'],
): Promise<void> {
  const goesOn = from !== undefined && from.startedAt === to?.startedAt;
  // Also before the first: `forget` may have left keys of a reading that it ended.
  if (!goesOn && (from ?? to) !== undefined) await forgetWholeKeys(tx, place);
  if (to !== undefined) await addWholeKeys(tx, place, to.keys.slice(goesOn ? from.keys.length : 0));
}

/** What the reading of a whole list has seen so far: too much to be written with its cursor at every commit. SQL: one array parameter. */
async function addWholeKeys(tx: Db, { source, resource }: Place, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await sql`insert into sluice.whole_keys (source, resource, key)
    select ${source}, ${resource}, k from unnest(cast(${keys} as text[])) k`.execute(tx);
}

async function forgetWholeKeys(tx: Db, { source, resource }: Place): Promise<void> {
  await tx.deleteFrom('sluice.whole_keys').where('source', '=', source).where('resource', '=', resource).execute();
}

async function readWholeKeys(db: Db, { source, resource }: Place): Promise<string[]> {
  const rows = await db
    .selectFrom('sluice.whole_keys')
    .select('key')
    .where('source', '=', source)
    .where('resource', '=', resource)
    .execute();
  return rows.map(row => row.key);
}
