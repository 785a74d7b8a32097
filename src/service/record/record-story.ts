import { stampMs } from '../../clock.ts';
import { oldestOf, partition } from '../../engine/coverage/list.ts';
import { confirmationOf, READINGS_OF_HALF } from '../../engine/deletion/is-deleted.ts';
import type { Job } from '../../engine/job.ts';
import { openResource, placeOf, type Resource } from '../../engine/resource.ts';
import { overlap, sliceText } from '../../engine/slices/slice.ts';
import type { Database } from '../../warehouse/database/database.ts';
import {
  readArrival,
  readChildRows,
  readEndedVersions,
  readStoredRow,
  type StoredValues,
} from '../../warehouse/reports/stored-record.ts';
import { heldOf } from '../../warehouse/rows/held-values.ts';
import { listMissing, type MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { readQuarantined } from '../../warehouse/rows/quarantine.ts';
import { windowsOf } from '../../warehouse/rows/row-windows.ts';
import { storedKey } from '../../warehouse/rows/tables.ts';
import { durationText, plural, valueText, wordsOfSlice } from '../format.ts';

/** All that is known of one record. */
export type RecordStory = Awaited<ReturnType<typeof readStory>>;

const MOST_VERSIONS = 100;

/** Kind `usage` for a key that the list cannot have. */
export async function readStory(
  database: Database,
  list: { readonly source: string; readonly schema: string; readonly name: string; readonly job: Job },
  given: string,
) {
  const { kysely } = database;
  const resource = await openResource(database.kysely, list);
  const { table, name, source } = resource;
  const place = placeOf(resource);
  const key = storedKey(table, given);
  const row = await readStoredRow(kysely, table, key);
  const ended = await readEndedVersions(kysely, table, key, MOST_VERSIONS);
  const quarantined = await readQuarantined(kysely, place, key);
  const children: Record<string, readonly StoredValues[]> = {};
  if (row !== null)
    for (const child of table.children) children[child.field] = await readChildRows(kysely, table, child, key);
  const missing = row === null ? null : await readMissing(database, resource, key);
  return {
    source,
    resource: name,
    key,
    state: stateOf(row !== null, missing !== null, quarantined !== null, ended.length > 0),
    // The part of the list that holds it, when that was last proven equal (epoch ms), and which undo has changed the row since.
    ...(row === null ? { slice: null, provenAt: null, undone: null } : await proofOf(database, resource, key, row)),
    current: row === null ? null : await currentVersion(database, resource, row),
    /** Newest first. Without `history` in its job, only a deletion leaves one. */
    ended,
    /** Its child rows, by the field that held them. */
    children,
    missing,
    quarantined,
    /** Fields that the source shows empty, and whose stored values are kept. */
    held: (await heldOf(kysely, place, key)).map(({ field, since }) => ({ field, since: stampMs(since) })),
  };
}

/** `deleted`: only the history holds it. `unknown`: nothing is held of it. */
type RecordState = 'stored' | 'missing' | 'deleted' | 'quarantined' | 'unknown';

function stateOf(isStored: boolean, isMissing: boolean, isBad: boolean, hasEnded: boolean): RecordState {
  if (isBad) return 'quarantined';
  if (isStored) return isMissing ? 'missing' : 'stored';
  return hasEnded ? 'deleted' : 'unknown';
}

/** When it last changed here, and when the request that brought it was granted (epoch ms). */
async function currentVersion({ kysely }: Database, resource: Resource, row: StoredValues) {
  const [since, readAt] = [String(row._synced_at), String(row._read_at)];
  const arrival = await readArrival(kysely, placeOf(resource), readAt);
  return { row, since: stampMs(since), readAt: stampMs(readAt), arrival };
}

async function readMissing({ kysely }: Database, resource: Resource, key: string) {
  const { strategy, table } = resource;
  const all = await listMissing(kysely, placeOf(resource), table, strategy);
  const found = all.find(each => each.key === key);
  if (found === undefined) return null;
  const { since, slice, readings = 1 } = found;
  const why = whyMissing(found, confirmationOf(found, strategy), strategy.relatedBy);
  return { since: stampMs(since), slice, readings, why };
}

/** The parts of the list that may hold the row, and the oldest proof among them. */
async function proofOf(database: Database, resource: Resource, key: string, row: StoredValues) {
  const parts = await partsOfRow(database, resource, key, row);
  const provenAt = oldestOf(parts);
  const at = provenAt ?? 0;
  // An undo restores what the source showed before the proof, and makes the part due.
  const isOlder = stampMs(String(row._synced_at)) > at && stampMs(String(row._read_at)) < at;
  const due = parts.find(({ dueSince }) => dueSince !== null && dueSince > at);
  const undone = isOlder ? (due?.dueReason ?? null) : null;
  return { slice: parts.map(({ slice }) => sliceText(slice)).join(', ') || null, provenAt, undone };
}

/** The parts of the list that may hold a stored row. */
export async function partsOfRow({ kysely }: Database, resource: Resource, key: string, row: StoredValues) {
  const { strategy, dates, table } = resource;
  const [window] = strategy.membership === 'window' ? await windowsOf(kysely, placeOf(resource), [key]) : [];
  const day = dates === undefined ? null : ((row[dates.field] as string | null) ?? null);
  const { from, to } = window ?? { from: day, to: day };
  const id = String(row[table.id.name]);
  return partition(resource).filter(({ slice }) => {
    if (slice.by === 'date') return overlap(slice, { by: 'date', from, to });
    if (slice.by !== 'id' || !/^-?\d+$/.test(id)) return true;
    return overlap(slice, { by: 'id', from: BigInt(id), to: BigInt(id) });
  });
}

/** Why a missing row is not deleted yet, in one sentence. `relatedBy`: the field that its related rows share. */
export function whyMissing(
  { half = false, readings = 1, unreadable = false, value }: MissingRow,
  confirmation: ReturnType<typeof confirmationOf>,
  relatedBy: string | null,
): string {
  if (unreadable)
    return 'A record that cannot be read appeared when it went missing, and may be this row; it stays until that record is corrected.';
  switch (confirmation) {
    case 'address':
      return 'It is deleted as soon as its own address answers that there is no such record.';
    case 'value':
      return `It is deleted as soon as the list of rows with ${relatedBy} ${value} lacks it, too; else it has only moved.`;
    case 'neighbours':
      return 'It is deleted as soon as a second reading of the ids around it lacks it, too.';
    case 'cover':
      return half
        ? `At least half of its part went missing with it, so ${READINGS_OF_HALF} readings must lack it; ${plural(readings, 'reading')} did so far.`
        : 'It may have moved to another part, so it is deleted once every part was read again, none shows it, and the count of the list, if it has one, agrees.';
  }
}

/** One sentence about a record, and what follows from it. `now`: epoch milliseconds. */
export function recordVerdict(story: RecordStory, now: number): { text: string; rest: string } {
  const { resource, key, state, slice, provenAt, undone, missing, quarantined, held, ended, current } = story;
  const name = `${resource} ${key}`;
  const since = (at: number) => `${durationText(Math.max(now - at, 0) / 1000)} ago`;
  const proof =
    provenAt === null
      ? 'The part of the list that holds it was not read in full yet.'
      : `It was last compared ${since(provenAt)}, in a reading of ${slice === null ? 'its list' : slice.split(', ').map(wordsOfSlice).join(' and ')}.`;
  switch (state) {
    case 'stored': {
      const changed = current === null ? '' : ` Its last change arrived ${since(current.since)}.`;
      const [first] = held;
      if (first !== undefined)
        return {
          text: `${name} holds what the source has shown empty since ${since(first.since)}`,
          rest: `Kept as stored: ${held.map(({ field }) => field).join(', ')}. It ends once the source shows it again, or somebody accepts the loss. ${proof}${changed}`,
        };
      if (undone !== null) return { text: `${name} was restored: ${undone}`, rest: `It is to be read again. ${proof}` };
      return {
        text: provenAt === null ? `${name} is stored` : `${name} equals the source as of ${since(provenAt)}`,
        rest: `${proof}${changed}`,
      };
    }
    case 'missing':
      return {
        text: `${name} has been missing since ${missing === null ? 'some time' : since(missing.since)}`,
        rest: `The source no longer shows it; it is kept until its deletion is proven. ${missing?.why ?? ''}`,
      };
    case 'deleted':
      return {
        text: `${name} was deleted at the source`,
        rest: `Its last version is kept in row_history${ended[0] ? `; it ended ${since(ended[0].to)}` : ''}.`,
      };
    case 'quarantined':
      return {
        text: `${name} is in quarantine`,
        rest: `The source sends it in a form that cannot be stored: ${Object.entries(quarantined?.reasons ?? {})
          .map(([field, reason]) => `${field}: ${reason}`)
          .join('; ')}. ${current === null ? 'No good version was read before.' : 'Its last good version is kept.'}`,
      };
    case 'unknown':
      return {
        text: `${name} is not known here`,
        rest: 'It was never read. If the source shows it, the next reading of its part of the list brings it.',
      };
  }
}

/** Columns that tell of Sluice's own work. */
const OURS = new Set(['_synced_at', '_read_at', '_hash', '_key']);

export function changedFields(before: StoredValues, after: StoredValues) {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields]
    .filter(field => !OURS.has(field) && valueText(before[field], '') !== valueText(after[field], ''))
    .map(field => ({ field, before: before[field] ?? null, after: after[field] ?? null }));
}
