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
  /** Keys seen so far, commit by commit; after a restart, those of one commit in another order. */
  readonly keys: readonly string[];
  /** Grant time of the slice's first request: the slice is proven as of then. */
  readonly startedAt: string;
  readonly totalPages: number | null;
  readonly totalRecords: number | null;
  /** The count has not moved so far. */
  readonly steady: boolean;
  /** Digest of the keys that the last pass over the pages showed, where another pass has to confirm it. */
  readonly before: string | null;
  /** The key of the last row shown; null before a row was. */
  readonly last: string | null;
}

/** Prefix of the name of a slice that is read only for a report. */
export const REPORT = 'report ';

/** The one slice that may be longer than a few answers. */
const WHOLE = 'whole';

/** Keys are kept apart, in `sluice.seen_keys`, so that a commit writes only its own; `seen` is how many it must hold. */
type StoredReading = Omit<ReadingState, 'keys' | 'last'> & { readonly seen?: number; readonly last?: string | null };

/** The durable position of one resource: its version, and the slices being read, keyed by the text that names them. */
export interface Cursor {
  readonly version: string;
  /** All of the list was read once: changes of its rows are logged from then on. */
  readonly isLogged: boolean;
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
  const { rows } = await sql<{
    resource: string;
    version: string;
    readings: Record<string, StoredReading>;
    isLogged: boolean;
  }>`
    insert into sluice.cursors as c (source, resource)
    select ${source}, r from unnest(cast(${resources} as text[])) r order by r
    on conflict (source, resource) do update set version = c.version + 1, readings = (
      select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(c.readings)
      where key = ${WHOLE} or cast(value->>'startedAt' as timestamptz) > sluice.now() - make_interval(secs => ${MAX_READING_SECONDS}))
    where cast(${versions} as jsonb) is null or c.version = cast(cast(${versions} as jsonb)->>c.resource as bigint)
    returning resource, version, readings, logs_since is not null as "isLogged"`.execute(db);
  const lost = resources.find(name => !rows.some(({ resource }) => resource === name));
  if (lost !== undefined) throw stale({ source, resource: lost });
  const seen = await readSeenKeys(db, source, resources);
  const cursors = new Map<string, Cursor>();
  for (const { resource, version, isLogged, readings: stored } of rows) {
    const readings: Record<string, ReadingState> = {};
    for (const [slice, { seen: count, last, ...position }] of Object.entries(stored)) {
      const keys = seen.get(keyOf(resource, slice)) ?? [];
      // A crash of Postgres empties their table, which is not logged, and earlier versions stored less: such a reading begins again.
      if (keys.length !== count || last === undefined) continue;
      readings[slice] = { ...position, last, keys };
      seen.delete(keyOf(resource, slice));
    }
    cursors.set(resource, { version, isLogged, readings });
  }
  if (seen.size > 0) await forgetSeenKeys(db, source, [...seen.keys()]);
  return cursors;
}

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

export interface CursorMove {
  readonly resource: string;
  /** The cursor as this process left it. */
  readonly from: Cursor;
  readonly readings: Cursor['readings'];
  readonly position: string;
  readonly runId: string | null;
  /** By now all of the list has been read. */
  readonly isProven: boolean;
}

/**
 * CTEs that end in `locked` (the cursors that nobody else has moved), `ours` (`now`, and `holds`: those are all, and the clock shows at least
 * `latest`, in epoch ms), those of the seen keys, and `moved` (the new `version` of each; none unless `ours` holds).
 */
export function cursorCtes(source: string, cursors: readonly CursorMove[], latest: number): RawBuilder<unknown> {
  const moves = cursors.map(({ resource, from, readings, position, runId, isProven }) => ({
    resource,
    version: from.version,
    readings: toStoredReadings(readings),
    position,
    runId,
    isProven,
  }));
  return sql`
    locked as materialized (
      select c.resource, m.readings, m.position, m."runId", m."isProven" from sluice.cursors c
      join jsonb_to_recordset(cast(${JSON.stringify(moves)} as jsonb))
        as m(resource text, version bigint, readings jsonb, position text, "runId" bigint, "isProven" boolean)
        on c.source = ${source} and c.resource = m.resource and c.version = m.version
      -- In the order of \`takeCursors\`.
      order by c.resource for update of c),
    -- What was granted after the clock was put back seems older than what is stored, and what was granted before is dated ahead.
    ours as materialized (
      select now, cursors = ${cursors.length} and ${epochMs('now')} >= ${Math.floor(latest)} as holds
      -- The clock is read once all are locked.
      from (select count(*) as cursors, sluice.now() as now from locked) counted),
    ${seenKeysCtes(source, cursors.flatMap(seenMoves))}
    moved as (
      update sluice.cursors c
      set version = c.version + 1, readings = locked.readings, position = locked.position, committed_at = ours.now, run_id = locked."runId",
        logs_since = coalesce(c.logs_since, case when locked."isProven" then ours.now end)
      from locked, ours where ours.holds and c.source = ${source} and c.resource = locked.resource
      returning c.resource, c.version)`;
}

/** What is stored of them. A report starts again in the next process. */
const toStoredReadings = (readings: Cursor['readings']): Record<string, StoredReading> =>
  Object.fromEntries(
    kept(readings).map(([slice, { keys, ...position }]) => [slice, { ...position, seen: keys.length }]),
  );

const kept = (readings: Cursor['readings']): [string, ReadingState][] =>
  Object.entries(readings).filter(([slice]) => !slice.startsWith(REPORT));

/** What a commit changes in the seen keys of one slice. */
interface SeenMove {
  readonly resource: string;
  readonly slice: string;
  /** Those of an earlier reading go. */
  readonly anew: boolean;
  /** How many keys had been seen before. */
  readonly at: number;
  /** Those that are new; null if the reading has ended. */
  readonly keys: StoredKeys | null;
}

/** A reading appends its keys, and leaves none when it has ended. */
function seenMoves({ resource, from, readings }: Pick<CursorMove, 'resource' | 'from' | 'readings'>): SeenMove[] {
  const ended = kept(from.readings).filter(([slice]) => !(slice in readings));
  const open = kept(readings).flatMap(([slice, { keys, startedAt }]): SeenMove[] => {
    const before = from.readings[slice];
    const goesOn = before !== undefined && before.startedAt === startedAt && before.keys.length <= keys.length;
    const at = goesOn ? before.keys.length : 0;
    if (goesOn && at === keys.length) return [];
    return [{ resource, slice, anew: !goesOn, at, keys: toStored(keys.slice(at)) }];
  });
  return [...ended.map(([slice]) => ({ resource, slice, anew: true, at: 0, keys: null })), ...open];
}

/** CTEs that follow `ours`; none where nothing changes. */
function seenKeysCtes(source: string, moves: readonly SeenMove[]): RawBuilder<unknown> {
  if (moves.length === 0) return sql``;
  return sql`
    keys as materialized (
      select k.* from jsonb_to_recordset(cast(${JSON.stringify(moves)} as jsonb))
        as k(resource text, slice text, anew boolean, at integer, keys jsonb), ours where ours.holds),
    unseen as (
      delete from sluice.seen_keys s using keys k where k.anew and s.source = ${source} and s.resource = k.resource and s.slice = k.slice
        -- No row is written twice by one statement.
        and (k.keys is null or s.at > 0)),
    seen as (
      insert into sluice.seen_keys (source, resource, slice, at, keys)
      select ${source}, resource, slice, at, keys from keys where keys is not null
      on conflict (source, resource, slice, at) do update set keys = excluded.keys),`;
}

/** What names a slice of a list here. */
const keyOf = (resource: string, slice: string): string => `${resource} ${slice}`;

/** What readings of these lists have seen, by `keyOf`. */
async function readSeenKeys(
  db: Db,
  source: string,
  resources: readonly string[],
): Promise<Map<string, readonly string[]>> {
  const rows = await db
    .selectFrom('sluice.seen_keys')
    .select(['resource', 'slice', 'keys'])
    .where('source', '=', source)
    .where('resource', '=', anyOf(resources))
    .orderBy('at')
    .execute();
  const seen = new Map<string, string[]>();
  for (const { resource, slice, keys } of rows) {
    const name = keyOf(resource, slice);
    const before = seen.get(name) ?? [];
    for (const key of fromStored(keys as StoredKeys)) before.push(key);
    seen.set(name, before);
  }
  return seen;
}

/** No answer under way is written any more, and all readings of the list begin anew. */
export async function takeOver(db: Db, { source, resource }: Place): Promise<void> {
  const here = sql`source = ${source} and resource = ${resource}`;
  await sql`update sluice.cursors set version = version + 1, readings = '{}' where ${here}`.execute(db);
  await sql`delete from sluice.seen_keys where ${here}`.execute(db);
}

async function forgetSeenKeys(db: Db, source: string, names: readonly string[]): Promise<void> {
  await sql`delete from sluice.seen_keys where source = ${source}
    and resource || ' ' || slice = any(cast(${names} as text[]))`.execute(db);
}
