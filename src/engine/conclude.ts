import { SluiceError } from '../errors.ts';
import { type Entry, writeCoverage } from '../warehouse/coverage.ts';
import type { Db } from '../warehouse/database.ts';
import { deleteRows, findLeft, lackedElsewhere, listMissing, markMissing, markSeen } from '../warehouse/missing.ts';
import { keptIn, shownByNone } from '../warehouse/row-windows.ts';
import type { Counts } from '../warehouse/runs.ts';
import { type IdSlice, type Slice, sliceCondition, sliceText } from '../warehouse/slice.ts';
import { countRows, valuesOf } from '../warehouse/stored.ts';
import { stampMs } from './ask.ts';
import { concludeTotal } from './control-totals.ts';
import type { Draft } from './draft.ts';
import { subtract } from './intervals.ts';
import { slicingOf } from './job.ts';
import { learn } from './next-slice.ts';
import {
  ignoresFilter,
  isIdOrdered,
  isPageless,
  keepsWindows,
  pageSize,
  partition,
  partitionOf,
  type Resource,
  watched,
} from './resource.ts';
import type { End, Step } from './step.ts';
import { fail, type Task } from './task.ts';
import { holds, widened, within } from './windows.ts';

interface Outcome {
  /** Keys of the step's rows that were new or different. */
  readonly changed: ReadonlySet<string>;
  /** Keys of its records in quarantine: they count as seen. */
  readonly bad: readonly string[];
  readonly counts: Counts;
}

/** Readings of a slice that did not add up before a task lets it be. */
export const MOST_TRIES = 3;

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
  if (isIdOrdered(resource) && !isPageless(resource) && resource.traits.get('ids') !== 'no') return 'id';
  return confirmingField(resource) === null ? 'cover' : 'value';
}

/** What follows from a step, in the transaction that writes its rows: cursor, missing rows, deletions, coverage. */
export async function conclude(tx: Db, draft: Draft, step: Step, outcome: Outcome): Promise<void> {
  const { resource, task, end } = step;
  const place = { source: resource.source, resource: resource.name };
  const name = task.reportOnly ? `report ${sliceText(step.slice)}` : sliceText(step.slice);
  const shown = [...step.rows.map(row => row.key), ...outcome.bad];
  if (!task.reportOnly && resource.holdsMissing) await markSeen(tx, place, shown);

  const startedAt = step.position?.startedAt ?? (end && 'startedAt' in end ? end.startedAt : null);
  const kept = draft.readings[name];
  // What is left of an older reading of the same slice has nothing to say to this one.
  const before = kept?.startedAt === startedAt && !step.anew ? kept : undefined;
  const seen = before ? [...before.keys, ...shown] : shown;
  if (!end) {
    if (!step.position) return;
    draft.readings[name] = {
      ...step.position,
      keys: [...new Set(seen)],
    };
    return;
  }
  delete draft.readings[name];
  outcome.counts.slices++;
  const whole = { ...step, end, seen };
  switch (end.kind) {
    case 'proven':
      await concludeProven(tx, draft, whole, end, outcome);
      break;
    case 'targeted':
      await concludeTargeted(tx, draft, whole, end, outcome);
      break;
    case 'gone':
      if (task.reportOnly) break;
      await markMissing(tx, place, [end.key], sliceText(step.slice), end.at);
      resource.holdsMissing = true;
      await remove(tx, draft, task, [end.key], outcome.counts);
      break;
    case 'total':
      if (step.slice.by === 'total' && !task.reportOnly)
        await replace(tx, draft, [], await concludeTotal(tx, draft, { task, slice: step.slice }, end));
      break;
    case 'split': {
      const parent = draft.entries.get(sliceText(step.slice));
      const parts = end.into.map(slice => share(parent, slice, end.into.length, end.total, resource));
      await replace(tx, draft, [step.slice], parts);
      break;
    }
    case 'larger': {
      const entries = partition(withEntries(resource, draft)).filter(entry => covers(step.slice, entry.slice));
      const believed = entries.reduce((sum, entry) => sum + (entry.rows ?? 1), 0);
      // At least twice what was believed, so that the next try is sure to gather less.
      const growth = Math.max(end.total / Math.max(believed, 1), 2);
      const larger = entries.map(entry => ({ ...entry, rows: Math.ceil(Math.max(entry.rows ?? 1, 1) * growth) }));
      await replace(tx, draft, [], larger);
      break;
    }
    case 'unproven': {
      // A targeted slice proves nothing anyway: what it showed is all there is to it until the next run.
      if (step.slice.by === 'value') {
        await concludeTargeted(
          tx,
          draft,
          whole,
          { kind: 'targeted', complete: false, startedAt: end.startedAt },
          outcome,
        );
        break;
      }
      const entries = partition(withEntries(resource, draft)).filter(entry => covers(step.slice, entry.slice));
      await replace(
        tx,
        draft,
        [],
        entries.map(entry => ({ ...entry, dueReason: `not proven: ${end.reason}` })),
      );
    }
  }
}

type Ended = Step & { end: End; seen: readonly string[] };

async function concludeProven(
  tx: Db,
  draft: Draft,
  step: Ended,
  end: Extract<End, { kind: 'proven' }>,
  outcome: Outcome,
): Promise<void> {
  const { resource, task } = step;
  const left = await leftOf(tx, resource, end.slice, step.seen, end.startedAt);
  await settleLeft(tx, draft, task, left, end.slice, end.startedAt, outcome.counts);

  if (end.slice.by !== partitionOf(resource)) return;
  const view = withEntries(resource, draft);
  if (task.reportOnly) {
    const done = partition(view).filter(entry => covers(end.slice, entry.slice));
    draft.after.push(() => {
      for (const entry of done) task.settled.add(sliceText(entry.slice));
      if (end.slice.by === 'id') task.intervals.push(end.slice);
    });
    return;
  }
  const at = stampMs(end.startedAt);
  if (end.slice.by === 'id') await proveInterval(tx, draft, end.slice, at, left.length, outcome.changed);
  else await proveWindows(tx, draft, end, at, left.length);
  if (keepsWindows(resource)) await settleShownByNone(tx, draft, task, end, outcome.counts);

  if (confirmedBy(resource) === 'cover') await removeUncovered(tx, draft, task, outcome.counts);
}

/** Rows whose window was cut anew have left the list when all windows were read since, and none returned them. */
async function settleShownByNone(
  tx: Db,
  draft: Draft,
  task: Task,
  end: Extract<End, { kind: 'proven' }>,
  counts: Counts,
): Promise<void> {
  const { resource } = draft;
  const proofs = partition(withEntries(resource, draft)).map(entry => entry.provenAt);
  if (proofs.includes(null)) return;
  const oldest = Math.min(...(proofs as number[]));
  const place = { source: resource.source, resource: resource.name };
  const left = await shownByNone(tx, place, resource.table, new Date(oldest).toISOString());
  await settleLeft(tx, draft, task, left, end.slice, end.startedAt, counts);
}

/** Every slice of a whole cover has been read since these rows went missing. */
async function removeUncovered(tx: Db, draft: Draft, task: Task, counts: Counts): Promise<void> {
  const { resource } = draft;
  const place = { source: resource.source, resource: resource.name };
  const missing = await listMissing(tx, place, resource.table, null);
  if (missing.length === 0) return;
  let oldest = Number.POSITIVE_INFINITY;
  for (const entry of partition(withEntries(resource, draft)))
    oldest = Math.min(oldest, entry.provenAt ?? Number.NEGATIVE_INFINITY);
  // The slice that lacked a row first has lacked it again since.
  const gone = missing.filter(row => stampMs(row.since) < oldest);
  await remove(
    tx,
    draft,
    task,
    gone.map(row => row.key),
    counts,
  );
}

async function leftOf(
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

async function settleLeft(
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
  const place = { source: resource.source, resource: resource.name };
  const fresh = await markMissing(tx, place, left, sliceText(slice), startedAt);
  counts.missing += fresh.length;
  resource.holdsMissing = true;
  // A row keyed by its content is gone as soon as its slice lacks it.
  const gone = left.filter(key => key.startsWith('#'));
  // An answer that lacks a row between its ids, after another answer did: two independent readings agree.
  if (slice.by === 'id' && confirmedBy(resource) !== 'one') {
    const news = new Set(fresh);
    gone.push(...left.filter(key => !news.has(key)));
  }
  await remove(tx, draft, task, gone, counts);
}

async function concludeTargeted(
  tx: Db,
  draft: Draft,
  step: Ended,
  end: Extract<End, { kind: 'targeted' }>,
  outcome: Outcome,
): Promise<void> {
  const { resource, task, slice } = step;
  const text = sliceText(slice);
  const at = stampMs(end.startedAt);
  if (!task.reportOnly) {
    const known = watched(withEntries(resource, draft)).find(entry => sliceText(entry.slice) === text);
    if (known)
      await replace(
        tx,
        draft,
        [],
        [
          {
            ...known,
            readAt: at,
            requests: Math.max(Math.ceil(step.seen.length / pageSize(resource)), 1),
            rows: step.seen.length,
          },
        ],
      );
  }
  draft.after.push(() => task.settled.add(text));
  if (!end.complete || slice.by !== 'value' || task.reportOnly) return;

  const place = { source: resource.source, resource: resource.name };
  const left = await leftOf(tx, resource, slice, step.seen, end.startedAt);
  if (left.length === 0) return;
  // A row that lost its date and its status at once is not gone: only the slice that is asked for the purpose confirms.
  const confirms = confirmedBy(resource) === 'value' && slice.field === confirmingField(resource);
  const confirmed = confirms ? await lackedElsewhere(tx, place, left, text) : [];
  await remove(tx, draft, task, confirmed, outcome.counts);
  // The others may just have another value now: the slices that hold them tell.
  const days = resource.dates ? await valuesOf(tx, resource.table, resource.dates.field, left) : [];
  const hinted = partition(withEntries(resource, draft)).filter(({ slice: part, provenAt }) => {
    if ((provenAt ?? 0) >= at) return false;
    if (part.by === 'date') return days.some(day => holds(part, day));
    return part.by === 'whole' || (part.by === 'id' && left.some(key => inInterval(part, key)));
  });
  await replace(
    tx,
    draft,
    [],
    hinted.map(entry => ({ ...entry, dueSince: at, dueReason: `a row left ${text}` })),
  );
}

async function remove(tx: Db, draft: Draft, task: Task, keys: readonly string[], counts: Counts): Promise<void> {
  const { resource } = draft;
  const place = { source: resource.source, resource: resource.name };
  const result = await deleteRows(tx, resource.table, place, keys, { runId: task.runId, accepted: task.accepted });
  if ('deleted' in result) {
    counts.deleted += result.deleted.length;
    draft.after.push(() => {
      task.accepted -= Math.min(task.accepted, result.deleted.length);
    });
    return;
  }
  const { missing, lost, limit } = result.blown;
  draft.after.push(() =>
    fail(
      task,
      new SluiceError(
        'fuse',
        `The source no longer shows ${missing} rows of ${resource.name}; with ${lost} deleted in the last 24 hours that is more than the ${limit} a day allows, so none of them was deleted.`,
        { next: `If they are really gone: sluice sync ${resource.name} --accept-deletes ${missing}` },
      ),
    ),
  );
}

/** The windows that lie in what was read are proven, each with its own rows and changes. */
async function proveWindows(
  tx: Db,
  draft: Draft,
  end: Extract<End, { kind: 'proven' }>,
  at: number,
  left: number,
): Promise<void> {
  const { resource } = draft;
  const entries = partition(withEntries(resource, draft)).filter(entry => covers(end.slice, entry.slice));
  const proven: Entry[] = [];
  for (const [index, entry] of entries.entries()) {
    const { rows, changed } = await countIn(tx, resource, entry.slice, end.startedAt);
    proven.push(prove(resource, entry, at, rows, changed + (index === 0 ? left : 0)));
  }
  await replace(tx, draft, [], proven);
}

async function proveInterval(
  tx: Db,
  draft: Draft,
  interval: IdSlice,
  at: number,
  left: number,
  changed: ReadonlySet<string>,
): Promise<void> {
  const { resource } = draft;
  const touched = partition(withEntries(resource, draft)).filter(
    (entry): entry is Entry & { slice: IdSlice } =>
      entry.slice.by === 'id' &&
      subtract(entry.slice, interval).every(part => sliceText(part) !== sliceText(entry.slice)),
  );
  const put: Entry[] = [];
  let watchedBefore = 0;
  let changedBefore = 0;
  let hours = 0;
  for (const entry of touched) {
    const parts = subtract(entry.slice, interval);
    let rest = 0;
    for (const slice of parts) {
      const { rows } = await countIn(tx, resource, slice, null);
      const part = rows / Math.max(entry.rows ?? rows, rows, 1);
      rest += part;
      put.push({ ...entry, slice, rows: entry.provenAt === null ? null : rows, changed: entry.changed * part });
    }
    if (entry.provenAt === null) continue;
    watchedBefore++;
    changedBefore += entry.changed * Math.max(1 - rest, 0);
    hours += entry.hoursWatched;
  }
  const { rows } = await countIn(tx, resource, interval, null);
  // Only what was proven before can be seen to change; the oldest of those proofs is what this reading renews.
  const old = touched.filter(entry => entry.provenAt !== null);
  const news = [...changed].filter(key => old.some(entry => inInterval(entry.slice, key))).length;
  const base: Entry = {
    slice: interval,
    provenAt: old.length > 0 ? Math.min(...old.map(entry => entry.provenAt as number)) : null,
    readAt: null,
    requests: 1,
    rows,
    changed: changedBefore,
    hoursWatched: watchedBefore > 0 ? hours / watchedBefore : 0,
    dueSince: null,
    dueReason: null,
  };
  put.push(prove(resource, base, at, rows, news + left));
  await replace(
    tx,
    draft,
    touched.map(entry => entry.slice),
    put,
  );
}

const inInterval = (slice: IdSlice, key: string): boolean => {
  const id = BigInt(key);
  return (slice.from === null || slice.from <= id) && (slice.to === null || id <= slice.to);
};

function prove(resource: Resource, entry: Entry, at: number, rows: number, changed: number): Entry {
  const requests = Math.max(Math.ceil(rows / pageSize(resource)), 1);
  return { ...learn(entry, { at, changed, rows, requests }), dueSince: null, dueReason: null };
}

const countIn = (tx: Db, resource: Resource, slice: Slice, startedAt: string | null) =>
  countRows(tx, resource.table, membersOf(resource, slice), startedAt);

/** Which stored rows lie in the slice: by their columns, or by the windows that returned them. */
const membersOf = (resource: Resource, slice: Slice) =>
  slice.by === 'date' && keepsWindows(resource)
    ? keptIn({ source: resource.source, resource: resource.name }, resource.table, widened(slice))
    : sliceCondition(slice, resource.table, resource.dates?.field);

/** A part of a slice that was split inherits its proof, and its history by the rows it is thought to have. */
function share(
  parent: Entry | undefined,
  slice: Slice,
  parts: number,
  total: number | null,
  resource: Resource,
): Entry {
  const rows = Math.ceil((total ?? parent?.rows ?? pageSize(resource)) / parts);
  return {
    slice,
    provenAt: parent?.provenAt ?? null,
    readAt: parent?.readAt ?? null,
    requests: Math.max(Math.ceil(rows / pageSize(resource)), 1),
    rows,
    changed: (parent?.changed ?? 0) / parts,
    hoursWatched: parent?.hoursWatched ?? 0,
    dueSince: parent?.dueSince ?? null,
    dueReason: parent?.dueReason ?? null,
  };
}

/** True when `part` lies in what was read. */
function covers(read: Slice, part: Slice): boolean {
  if (read.by === 'date' && part.by === 'date') return within(part, read.from, read.to);
  if (read.by === 'id' && part.by === 'id') return subtract(part, read).length === 0;
  return read.by === part.by;
}

const withEntries = (resource: Resource, draft: Draft): Resource => ({ ...resource, entries: draft.entries });

async function replace(tx: Db, draft: Draft, removed: readonly Slice[], put: readonly Entry[]): Promise<void> {
  const { resource } = draft;
  if (removed.length === 0 && put.length === 0) return;
  for (const slice of removed) draft.entries.delete(sliceText(slice));
  for (const entry of put) draft.entries.set(sliceText(entry.slice), entry);
  await writeCoverage(tx, { source: resource.source, resource: resource.name }, removed, put);
}
