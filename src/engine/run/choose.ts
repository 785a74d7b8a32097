import { DAY } from '../../clock.ts';
import { stampMs } from '../../warehouse/database/stamp.ts';
import type { Entry } from '../../warehouse/ledgers/coverage.ts';
import type { MissingRow } from '../../warehouse/rows/missing.ts';
import { asksUnfiltered, confirmedBy, confirmingField, isConfirmedByCover } from '../apply/gone.ts';
import { slicingOf } from '../job.ts';
import { MOST_PAGES } from '../read/read-pages.ts';
import {
  foundAbsentAt,
  isPageless,
  keepsWindows,
  oldestProof,
  orderOf,
  pageSize,
  partition,
  partitionOf,
  type Resource,
  watched,
} from '../resource.ts';
import type { Day } from '../slices/date-windows.ts';
import { byIds, subtract } from '../slices/id-ranges.ts';
import { nextSlice, pooledPrior } from '../slices/next-slice.ts';
import { type DateSlice, type IdSlice, overlap, parseSlice, type Slice, sliceText } from '../slices/slice.ts';
import { totalToAsk } from './control-totals.ts';
import { type Task, wants } from './task.ts';

/** What to read next for a task. `answers`: the most it may take; `gathered`: several slices in one go. */
export interface Choice {
  readonly slice: Slice;
  readonly answers: number;
  readonly gathered: boolean;
  /** Counts against the task's allowance. */
  readonly counted: boolean;
}

/** `blocked`: there is something, but what is being read now is in its way. `done`: nothing is left. */
export type Next = Choice | 'blocked' | 'done';

const single = (slice: Slice, counted: boolean): Choice => ({ slice, answers: MOST_PAGES, gathered: false, counted });

/**
 * What a task reads next: first what is watched at every sync, then what a hint made due, then the slices that are due, and at
 * the end the rows that went missing. `today`: the day it is at the source. `affordable`: reading everything again costs at most
 * half the hourly limit; null: not known yet.
 */
export async function choose(
  task: Task,
  context: { now: number; today: Day; affordable: boolean | null; missing: () => Promise<readonly MissingRow[]> },
): Promise<Next> {
  const { resource } = task;
  // A schedule asks once a day for a list that the source had not; a report has nothing to compare.
  const absentAt = foundAbsentAt(resource);
  if (absentAt !== null && (task.reportOnly || (task.kind === 'slot' && context.now - absentAt < DAY)))
    task.absent = true;
  if (task.absent) return idle(task);
  if (task.kind === 'hint') return chooseHinted(task);
  // What is being read now may still change what is left to do.
  const quiet = resource.reading.size === 0;
  const free = (slice: Slice) => ![...resource.reading].some(other => overlap(other, slice));
  const counted = task.kind === 'slot';

  const mayReread = task.allowance > 0;
  const all =
    task.kind === 'verify' || task.kind === 'backfill' || (task.kind === 'sync' && context.affordable === true);
  // How many rows there are is asked for before all is read, too, to be compared with what was read in the end.
  if (task.kind === 'verify' && !task.reportOnly && task.counted === null && partitionOf(resource) === 'date') {
    const slice: Slice = { by: 'newest' };
    if (!task.settled.has(sliceText(slice))) return quiet ? { ...single(slice, counted), answers: 1 } : 'blocked';
  }
  if (task.kind === 'sync' || task.kind === 'slot') {
    // What a sync reads in full anyway, or for the first time, needs no watching beside it.
    const unread = partition(resource).some(entry => entry.provenAt === null);
    const covered = all || (task.kind === 'sync' && unread);
    // What is summed up by month has no habits to be learnt from its newest end either.
    const monthly = slicingOf(resource.job, 'month') !== undefined;
    const needless = ({ slice }: Entry) =>
      (covered && slice.by === 'value') || (monthly && (all || unread) && slice.by === 'newest');
    const hot = watched(resource).filter(
      entry => (entry.readAt ?? 0) < task.since && !task.settled.has(sliceText(entry.slice)) && !needless(entry),
    );
    const first = hot[0];
    if (first)
      return free(first.slice)
        ? {
            ...single(first.slice, counted),
            answers: first.slice.by === 'newest' ? MOST_PAGES : Number.POSITIVE_INFINITY,
          }
        : 'blocked';
  }

  const lacking = !task.reportOnly && (all || mayReread) ? lackingSlices(resource, await context.missing()) : [];
  const latestMissing = latest(lacking);
  const parts = partition(resource);
  // A part of the cover confirms nothing.
  const canConfirm = parts.every(({ slice, provenAt }) => (provenAt ?? 0) >= latestMissing || wants(task, slice));
  const open = parts.filter(entry => !task.settled.has(sliceText(entry.slice)));
  const entries = task.reportOnly ? open.flatMap(entry => unreported(task, entry)) : open;
  const due = entries.filter(entry => {
    if (!wants(task, entry.slice)) return false;
    // What was never read has nothing to be compared with; the report names it.
    if (task.reportOnly) return entry.provenAt !== null;
    if (entry.provenAt === null) return task.kind !== 'slot' || mayReread;
    if ((canConfirm && entry.provenAt < latestMissing) || isHinted(entry)) return true;
    return entry.provenAt < task.since && (all || mayReread || isNewestEnd(entry));
  });
  // The end where rows are added, and what a hint points to, come before all else.
  const hinted = due.filter(entry => isHinted(entry) || isNewestEnd(entry));
  const urgent = hinted.length > 0 ? hinted : due;
  const startable = urgent.filter(entry => free(entry.slice));
  // While any other is due, or being read, what lacked rows waits.
  const waits = (entry: Entry) => hasLacked(entry, lacking);
  const candidates = urgent.every(waits) ? startable : startable.filter(entry => !waits(entry));
  const now = context.now;
  // Now and then, what one request tells of a whole month says where to read.
  if (counted && mayReread && hinted.length === 0 && resource.turn % 5 === 2) {
    const slice = totalToAsk(resource, context.today, now);
    if (slice && free(slice)) return single(slice, counted);
  }
  const best = nextSlice(
    candidates,
    all && hinted.length === 0 ? 0 : resource.turn,
    pooledPrior(resource.entries.values(), now),
    now,
  );
  if (best) {
    const pays = counted || (task.kind === 'sync' && best.provenAt !== null && !all);
    if (best.slice.by === 'id')
      return chainIds(task, best as Entry & { slice: IdSlice }, startable, pays, all || best.provenAt === null);
    if (best.slice.by === 'date' && (all || best.provenAt === null) && !keepsWindows(resource))
      return gatherDates(task, best as Entry & { slice: DateSlice }, candidates, pays);
    return { ...single(best.slice, pays), answers: best.slice.by === 'whole' ? Number.POSITIVE_INFINITY : MOST_PAGES };
  }
  if (due.length > 0 || !quiet) return 'blocked';
  // Whether a sync reads everything again is decided when all is read that never was, here and in the other lists.
  if (task.kind === 'sync' && context.affordable === null) return 'blocked';
  return task.reportOnly || (counted && !mayReread) ? idle(task) : confirm(task, await context.missing(), counted);
}

/** What hints point to, in its order, as far as the allowance goes: the next slot finds the rest. */
function chooseHinted(task: Task): Next {
  const { resource, targets } = task;
  // A window that was cut in the meantime would be cut once more.
  while (targets[0]?.by === 'date' && !resource.entries.has(sliceText(targets[0]))) targets.shift();
  const slice = task.allowance > 0 ? targets[0] : undefined;
  if (!slice) return idle(task);
  // One after the other, so that the allowance holds.
  if (resource.reading.size > 0) return 'blocked';
  targets.shift();
  return { ...single(slice, true), answers: slice.by === 'id' ? 1 : MOST_PAGES };
}

/** Something was seen to happen in it since it was last proven. */
const isHinted = (entry: Entry): boolean => entry.dueSince !== null && entry.dueSince > (entry.provenAt ?? 0);

/** Where a list in id order grows. */
const isNewestEnd = ({ slice }: Entry): boolean => slice.by === 'id' && slice.to === null;

/** Nothing more can be started for a task: it is done once its readings are. */
export const idle = (task: Task): 'blocked' | 'done' => (task.resource.reading.size > 0 ? 'blocked' : 'done');

// The answers of an id list keep to no slice's bounds: for a report, what is left of one is what its intervals do not cover.
function unreported(task: Task, entry: Entry): Entry[] {
  if (entry.slice.by !== 'id') return [entry];
  let rest: IdSlice[] = [entry.slice];
  for (const read of task.intervals) rest = rest.flatMap(part => subtract(part, read));
  return rest.map(slice => ({ ...entry, slice }));
}

/** A slice that lacked rows which only a whole cover confirms, and the first and the last moment (epoch ms) it lacked one. */
interface Lacking {
  readonly slice: Slice;
  readonly first: number;
  readonly last: number;
}

function lackingSlices(resource: Resource, missing: readonly MissingRow[]): Lacking[] {
  const found = new Map<string, Lacking>();
  for (const row of missing) {
    if (!isConfirmedByCover(resource, row)) continue;
    const at = stampMs(row.since);
    const { slice, first, last } = found.get(row.slice) ?? { slice: parseSlice(row.slice), first: at, last: at };
    found.set(row.slice, { slice, first: Math.min(first, at), last: Math.max(last, at) });
  }
  return [...found.values()];
}

/** The moment after which a whole cover confirms: the slice that lacked a row is read again, too. */
const latest = (lacking: readonly Lacking[]): number => Math.max(0, ...lacking.map(({ last }) => last + 1));

/**
 * It lacked rows when it was last read, which the others may show: it is read again after them. Asked again at once, what answered
 * wrongly would most likely do so again.
 */
const hasLacked = ({ slice, provenAt }: Entry, lacking: readonly Lacking[]): boolean =>
  lacking.some(each => each.slice.by === slice.by && overlap(each.slice, slice) && each.first <= (provenAt ?? 0));

/** Rows that went missing, one by one or by the customer they belong to. */
function confirm(task: Task, missing: readonly MissingRow[], counted: boolean): Next {
  const { resource } = task;
  // None of them may go: asking for each would cost a request a row.
  if (task.failure?.kind === 'fuse') return idle(task);
  const way = confirmedBy(resource);
  const field = confirmingField(resource);
  const slices = missing
    .filter(row => !row.key.startsWith('#') && !task.settled.has(`confirm ${row.key}`))
    .filter(row => !isConfirmedByCover(resource, row))
    .map((row): { key: string; slice: Slice } => {
      if (way === 'value' && field !== null && row.value !== null)
        return { key: row.key, slice: { by: 'value', field, value: row.value } };
      if (way === 'id') return { key: row.key, slice: { by: 'id', from: BigInt(row.key), to: BigInt(row.key) } };
      return { key: row.key, slice: { by: 'one', key: row.key } };
    });
  for (const { key, slice } of slices) {
    if ([...resource.reading].some(other => other.by === slice.by || overlap(other, slice))) continue;
    // One try for each task: what it does not settle waits for the next.
    task.settled.add(`confirm ${key}`);
    return { ...single(slice, counted), answers: 1 };
  }
  return confirmByCover(task, latest(lackingSlices(resource, missing)), counted);
}

/**
 * Where the last way to confirm has just been lost, the cover may be read already: one part of it concludes. The smallest, as one that
 * has become too large would be cut instead.
 */
function confirmByCover(task: Task, since: number, counted: boolean): Next {
  const { resource } = task;
  const covered = since > 0 && (oldestProof(resource) ?? 0) >= since;
  if (!covered || resource.reading.size > 0 || task.settled.has('confirm cover')) return idle(task);
  const unfiltered: Slice = { by: 'newest' };
  if (asksUnfiltered(resource) && (resource.entries.get(sliceText(unfiltered))?.readAt ?? 0) < since)
    return single(unfiltered, counted);
  task.settled.add('confirm cover');
  const size = ({ rows }: Entry) => rows ?? Number.POSITIVE_INFINITY;
  const part = partition(resource).reduce((least, each) => (size(each) < size(least) ? each : least));
  return { ...single(part.slice, counted), answers: Number.POSITIVE_INFINITY };
}

/** Neighbours that are due too are read in the same chain of answers. */
function chainIds(
  task: Task,
  best: Entry & { slice: IdSlice },
  due: readonly Entry[],
  counted: boolean,
  chain: boolean,
): Next {
  const { resource } = task;
  if (resource.reading.size > 0) return 'blocked';
  if (!chain) return { slice: best.slice, answers: 1, gathered: false, counted };
  const descending = orderOf(resource) !== 'id-asc';
  const ranges = due.map(entry => entry.slice as IdSlice).sort(byIds(descending));
  let { from, to } = best.slice;
  let rows = best.rows ?? Number.POSITIVE_INFINITY;
  const most = MOST_PAGES * pageSize(resource);
  for (const next of ranges.slice(ranges.indexOf(best.slice) + 1)) {
    const adjacent = descending
      ? next.to !== null && from !== null && next.to === from - 1n
      : next.from !== null && to !== null && next.from === to + 1n;
    if (!adjacent || rows >= most) break;
    if (descending) from = next.from;
    else to = next.to;
    rows += due.find(entry => entry.slice === next)?.rows ?? most;
  }
  const answers = Number.isFinite(rows)
    ? Math.min(Math.ceil((rows * 1.1) / pageSize(resource)) + 1, MOST_PAGES)
    : MOST_PAGES;
  return { slice: { by: 'id', from, to }, answers, gathered: true, counted };
}

/** Neighbouring windows that are due too are asked for together, as far as they fit into one reading. */
function gatherDates(task: Task, best: Entry & { slice: DateSlice }, due: readonly Entry[], counted: boolean): Next {
  const { traits } = task.resource;
  const pages = isPageless(task.resource) || traits.get('ids') === 'no' ? 1 : MOST_PAGES;
  const most = pages * pageSize(task.resource) * 0.85;
  if (best.rows === null || best.rows > most)
    return { slice: best.slice, answers: MOST_PAGES, gathered: false, counted };
  const windows = due
    .filter((entry): entry is Entry & { slice: DateSlice } => entry.slice.by === 'date')
    .sort((a, b) => ((a.slice.from ?? '') < (b.slice.from ?? '') ? -1 : 1));
  const at = windows.findIndex(entry => entry.slice === best.slice);
  let first = at;
  let last = at;
  let rows = best.rows;
  const fits = (entry: Entry | undefined): entry is Entry =>
    entry !== undefined && entry.rows !== null && rows + entry.rows <= most;
  // Older neighbours first: what is newer was read before.
  for (
    let entry = windows[first - 1];
    fits(entry) && meets(windows[first - 1], windows[first]);
    entry = windows[first - 1]
  ) {
    rows += entry.rows as number;
    first--;
  }
  for (
    let entry = windows[last + 1];
    fits(entry) && meets(windows[last], windows[last + 1]);
    entry = windows[last + 1]
  ) {
    rows += entry.rows as number;
    last++;
  }
  const slice: DateSlice = {
    by: 'date',
    from: windows[first]?.slice.from ?? null,
    to: windows[last]?.slice.to ?? null,
  };
  return { slice, answers: MOST_PAGES, gathered: first < last, counted };
}

function meets(a: { slice: DateSlice } | undefined, b: { slice: DateSlice } | undefined): boolean {
  const end = a?.slice.to;
  const start = b?.slice.from;
  return typeof end === 'string' && typeof start === 'string' && Date.parse(start) - Date.parse(end) === DAY;
}
