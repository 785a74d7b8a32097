import { sql } from 'kysely';
import { SluiceError } from '../../errors.ts';
import type { Db } from '../database/database.ts';
import type { Place } from './place.ts';
import { addWholeKeys, forgetWholeKeys, readWholeKeys } from './whole-keys.ts';

/** Where the reading of one slice stands after its last commit. */
export interface ReadingState {
  /** The next page to ask for, from 1. */
  readonly page: number;
  /** Rows asked for per page; paging only adds up while it stays the same. */
  readonly limit: number;
  /** Keys seen so far. */
  readonly keys: readonly string[];
  /** Grant time of the slice's first request: what the slice proves, it proves as of then. */
  readonly startedAt: string;
  readonly totalPages: number | null;
  readonly totalRecords: number | null;
  /** Digest of the keys that the pages showed when they were last gone through, where that has to be done again. */
  readonly before: string | null;
}

/** In front of the name of a slice that is read to be reported on. */
export const REPORT = 'report ';

/** The one slice that may be longer than a few answers. Its keys have a table of their own; `seen` tells how many it must hold. */
const WHOLE = 'whole';
type StoredReading = ReadingState & { readonly seen?: number };

/** The durable position of one resource: its version, and the slices being read by the text that names them. */
export interface Cursor {
  readonly version: string;
  readonly readings: Readonly<Record<string, ReadingState>>;
}

/**
 * Readings begun longer ago than this are started again: what they have seen is too old to prove anything together with the rest.
 * Not that of a whole list, which may take longer than the request limit gives in this time, and would never come to its end.
 */
const MAX_READING_SECONDS = 15 * 60;

/**
 * Takes over the cursors of these resources: from now on a commit by whoever read them before finds the version moved and writes
 * nothing. Only the holder of the source's lock calls it. Rows are locked by name, as every commit does, so that none waits for the other.
 */
export async function takeCursors(db: Db, source: string, resources: readonly string[]): Promise<Map<string, Cursor>> {
  const { rows } = await sql<{ resource: string; version: string; readings: Record<string, StoredReading> }>`
    insert into sluice.cursors as c (source, resource)
    select ${source}, r from unnest(cast(${resources} as text[])) r order by r
    on conflict (source, resource) do update set version = c.version + 1, readings = (
      select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(c.readings)
      where key = ${WHOLE} or cast(value->>'startedAt' as timestamptz) > sluice.now() - make_interval(secs => ${MAX_READING_SECONDS}))
    returning resource, version, readings`.execute(db);
  const cursors = new Map<string, Cursor>();
  for (const { resource, version, readings } of rows) {
    const whole = readings[WHOLE];
    if (whole) {
      const keys = await readWholeKeys(db, { source, resource });
      // A crash of Postgres has emptied their table: the reading begins again.
      if (keys.length === whole.seen) readings[WHOLE] = { ...whole, keys };
      else {
        delete readings[WHOLE];
        await forgetWholeKeys(db, { source, resource });
      }
    }
    cursors.set(resource, { version, readings });
  }
  return cursors;
}

/** Moves a cursor on, in the transaction that writes the rows. Finding another version than `from` stops the writer. */
export async function moveCursor(
  tx: Db,
  place: Place,
  from: Cursor,
  change: { readings: Readonly<Record<string, ReadingState>>; position: string; runId: string | null },
): Promise<Cursor> {
  const { rows } = await sql<{ version: string }>`
    update sluice.cursors set version = version + 1, readings = cast(${JSON.stringify(stored(change.readings))} as jsonb),
      position = ${change.position}, committed_at = sluice.now(), run_id = cast(${change.runId} as bigint)
    where source = ${place.source} and resource = ${place.resource} and version = cast(${from.version} as bigint)
    returning version`.execute(tx);
  const moved = rows[0];
  if (!moved) {
    throw new SluiceError(
      'stale',
      `Another process has taken over ${place.resource}; this one wrote nothing and stops.`,
      {
        next: 'Nothing to do: the other process goes on from the last commit.',
      },
    );
  }
  await moveWholeKeys(tx, place, from.readings[WHOLE], change.readings[WHOLE]);
  return { version: moved.version, readings: change.readings };
}

/** What is worth keeping of them: a report begins anew in the next process. */
const stored = (readings: Cursor['readings']): Record<string, StoredReading> => {
  const kept = Object.entries(readings).filter(([name]) => !name.startsWith(REPORT));
  const { [WHOLE]: whole, ...others } = Object.fromEntries(kept);
  return whole ? { ...others, [WHOLE]: { ...whole, keys: [], seen: whole.keys.length } } : others;
};

/** Writes only what came since: the keys of a reading are added at their end. */
async function moveWholeKeys(tx: Db, place: Place, from: ReadingState | undefined, to: ReadingState | undefined) {
  const goesOn = from !== undefined && from.startedAt === to?.startedAt;
  if (from !== undefined && !goesOn) await forgetWholeKeys(tx, place);
  if (to !== undefined) await addWholeKeys(tx, place, to.keys.slice(goesOn ? from.keys.length : 0));
}
