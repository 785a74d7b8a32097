import { isKind, SluiceError } from '../../errors.ts';
import type { Db } from '../../warehouse/database/database.ts';
import { stampMs } from '../../warehouse/database/stamp.ts';
import type { Counts } from '../../warehouse/ledgers/runs.ts';
import { sourceOption } from '../../warehouse/ledgers/sources.ts';
import {
  deleteRows,
  type Fuse,
  findLeft,
  listMissing,
  type MissingRow,
  markMissing,
  readFuse,
} from '../../warehouse/rows/missing.ts';
import { shownByNone } from '../../warehouse/rows/row-windows.ts';
import { countRows } from '../../warehouse/rows/stored-rows.ts';
import { slicingOf } from '../job.ts';
import type { End } from '../read/step.ts';
import {
  ignoresFilter,
  isIdOrdered,
  isPageless,
  keepsWindows,
  mayLeaveGaps,
  oldestProof,
  partitionOf,
  placeOf,
  type Resource,
} from '../resource.ts';
import { fail, type Task } from '../run/task.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import { type Draft, drafted } from './draft.ts';
import { membersOf } from './prove.ts';

/** The field by whose value a list is asked again for a missing row: an invoice's customer. */
export function confirmingField(resource: Resource): string | null {
  for (const slicing of resource.job.slicings)
    if (slicing.by === 'value' && slicing.watch.length === 0 && !ignoresFilter(resource, slicing.field))
      return slicing.field;
  return null;
}

/** How a row that is missing is proven gone. */
export function confirmedBy(resource: Resource): 'one' | 'id' | 'value' | 'cover' {
  if (slicingOf(resource.job, 'one')) return 'one';
  if (confirmingField(resource) !== null) return 'value';
  const { traits } = resource;
  const inPlace = isIdOrdered(resource) && traits.get('edits') === 'in place';
  const showsIds = !isPageless(resource) && !mayLeaveGaps(resource) && traits.get('ids') !== 'no';
  return inPlace && showsIds ? 'id' : 'cover';
}

/** No question of its own confirms that this row is gone: an invoice without a customer can only be lacked by everything. */
export function isConfirmedByCover(resource: Resource, row: Pick<MissingRow, 'value'>): boolean {
  const way = confirmedBy(resource);
  return way === 'cover' || (way === 'value' && row.value === null);
}

/** One answer holds the unfiltered list: what it shows is there, whatever the windows lack. */
const showsAll = (resource: Resource): boolean =>
  isPageless(resource) && resource.traits.get('one answer') !== 'cut' && partitionOf(resource) === 'date';

/** The unfiltered list has to be asked, too: it shows a row, or counts it, that lies in no window. */
export const asksUnfiltered = (resource: Resource): boolean =>
  showsAll(resource) || (keepsWindows(resource) && resource.total !== null);

/** Rows whose window was cut anew have left the list when all windows were read since, and none returned them. */
export async function settleShownByNone(
  tx: Db,
  draft: Draft,
  task: Task,
  end: Extract<End, { kind: 'proven' }>,
  counts: Counts,
): Promise<void> {
  const { resource } = draft;
  const oldest = oldestProof(drafted(draft));
  // Only when the oldest proof moves on are there rows that were not shown since; all of them are looked through for it.
  if (oldest === null || oldest === oldestProof(resource)) return;
  const left = await shownByNone(tx, placeOf(resource), resource.table, new Date(oldest).toISOString());
  await settleLeft(tx, draft, task, left, end.slice, end.startedAt, counts);
}

/** Every slice of a whole cover has been read since these rows went missing, so the one that lacked each has lacked it again. */
export async function lackedByAll(db: Db, resource: Resource): Promise<string[]> {
  const oldest = oldestProof(resource);
  if (!resource.holdsMissing || oldest === null) return [];
  const unfiltered = resource.entries.get(sliceText({ by: 'newest' }))?.readAt ?? 0;
  const readBy = asksUnfiltered(resource) ? Math.min(oldest, unfiltered) : oldest;
  const missing = await listMissing(db, placeOf(resource), resource.table, confirmingField(resource));
  return missing.filter(row => isConfirmedByCover(resource, row) && stampMs(row.since) < readBy).map(row => row.key);
}

export async function removeUncovered(tx: Db, draft: Draft, task: Task, counts: Counts): Promise<void> {
  const resource = drafted(draft);
  const gone = await lackedByAll(tx, resource);
  if (gone.length > 0 && (await countsNoMore(tx, resource, task))) await remove(tx, draft, task, gone, counts);
}

/**
 * A row without a date is lacked by all windows, too. Where rows do not show their date, they are gone only if the list counted no
 * more than would be left of all that is missing, and counted the same before.
 */
async function countsNoMore(tx: Db, resource: Resource, task: Task): Promise<boolean> {
  const { total } = resource;
  if (!keepsWindows(resource) || total === null) return true;
  if (total === undefined || total !== task.counted) return false;
  const missing = await listMissing(tx, placeOf(resource), resource.table, null);
  const { rows } = await countRows(tx, resource.table, null);
  return rows - missing.length >= total;
}

export async function leftOf(
  tx: Db,
  resource: Resource,
  slice: Slice,
  seen: readonly string[],
  startedAt: string,
): Promise<string[]> {
  // A record whose key cannot be read may be any of the rows that seem to be gone.
  if (seen.some(key => key.startsWith('?'))) return [];
  const condition = membersOf(resource, slice);
  return condition ? findLeft(tx, resource.table, condition, seen, startedAt) : [];
}

export async function settleLeft(
  tx: Db,
  draft: Draft,
  task: Task,
  left: readonly string[],
  slice: Slice,
  startedAt: string,
  counts: Counts,
): Promise<void> {
  if (left.length === 0) return;
  if (task.reportOnly) {
    for (const key of left) task.findings.extra.add(key);
    return;
  }
  const { resource } = draft;
  const fresh = await markMissing(tx, placeOf(resource), left, sliceText(slice), startedAt);
  counts.missing += fresh.length;
  resource.holdsMissing = true;
  // A row keyed by its content is gone as soon as its slice lacks it.
  const gone = left.filter(key => key.startsWith('#'));
  // An answer that lacks a row between its ids, after another answer did: two independent readings agree.
  if (slice.by === 'id' && confirmedBy(resource) === 'id') {
    const news = new Set(fresh);
    gone.push(...left.filter(key => !news.has(key)));
  }
  await remove(tx, draft, task, gone, counts);
}

export async function remove(tx: Db, draft: Draft, task: Task, keys: readonly string[], counts: Counts): Promise<void> {
  const { resource } = draft;
  const result = await deleteRows(tx, resource.table, placeOf(resource), keys, {
    runId: task.runId,
    // What this transaction has deleted counts already.
    accepted: Math.max(task.accepted - counts.deleted, 0),
  });
  if ('deleted' in result) {
    counts.deleted += result.deleted.length;
    draft.after.push(() => {
      task.accepted -= Math.min(task.accepted, result.deleted.length);
    });
    return;
  }
  draft.after.push(() => fail(task, blown(resource, result.blown)));
}

/** Once the rest was read, too, more may be missing than when the fuse blew: what a person is told to accept has to be enough. */
export async function countAgain(db: Db, task: Task): Promise<void> {
  if (!isKind(task.failure, 'fuse')) return;
  const { resource } = task;
  const fuse = await readFuse(db, resource.table, placeOf(resource));
  if (fuse.lost + fuse.missing > fuse.limit) task.failure = blown(resource, fuse);
}

const blown = ({ name, source }: Resource, { missing, lost, limit }: Fuse): SluiceError =>
  new SluiceError(
    'fuse',
    `The source no longer shows ${missing} rows of ${name}; with ${lost} deleted in the last 24 hours that is more than the ${limit} a day allows, so none of them was deleted.`,
    { next: `If they are really gone: sluice sync ${name} --accept-deletes ${missing}${sourceOption(source)}` },
  );
