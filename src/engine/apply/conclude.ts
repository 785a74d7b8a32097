import type { Db } from '../../warehouse/database/database.ts';
import { stampMs } from '../../warehouse/database/stamp.ts';
import { REPORT } from '../../warehouse/ledgers/cursors.ts';
import type { Counts } from '../../warehouse/ledgers/runs.ts';
import { forgetLacked, lackedElsewhere, markMissing, markSeen, type SeenRow } from '../../warehouse/rows/missing.ts';
import { valuesOf } from '../../warehouse/rows/stored-rows.ts';
import type { End, Step } from '../read/step.ts';
import {
  type Edge,
  keepsWindows,
  oldestProof,
  pageSize,
  partition,
  partitionOf,
  placeOf,
  watched,
} from '../resource.ts';
import { concludeTotal } from '../run/control-totals.ts';
import { MOST_TRIES } from '../run/task.ts';
import { holds } from '../slices/date-windows.ts';
import { overlap, parseSlice, sliceText } from '../slices/slice.ts';
import { type Draft, drafted, noteTrait, replaceEntries } from './draft.ts';
import {
  confirmedBy,
  confirmingField,
  leftOf,
  remove,
  removeUncovered,
  settleLeft,
  settleShownByNone,
} from './gone.ts';
import { covers, inInterval, proveInterval, proveWindows, share } from './prove.ts';

interface Outcome {
  /** Keys of the step's rows that were new or different. */
  readonly changed: ReadonlySet<string>;
  /** Keys of its records in quarantine: they count as seen. */
  readonly bad: readonly string[];
  readonly counts: Counts;
}

/** What follows from a step, in the transaction that writes its rows: cursor, missing rows, deletions, coverage. */
export async function conclude(tx: Db, draft: Draft, step: Step, outcome: Outcome): Promise<void> {
  const { resource, task, end } = step;
  const name = `${task.reportOnly ? REPORT : ''}${sliceText(step.slice)}`;
  const shown = [...step.rows.map(row => row.key), ...outcome.bad];
  if (!task.reportOnly && resource.holdsMissing) await settleSeen(tx, draft, step, shown, outcome);

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
      await markMissing(tx, placeOf(resource), [end.key], sliceText(step.slice), end.at);
      resource.holdsMissing = true;
      await remove(tx, draft, task, [end.key], outcome.counts);
      break;
    case 'total':
      if (step.slice.by === 'total' && !task.reportOnly)
        await replaceEntries(tx, draft, [], await concludeTotal(tx, draft, { task, slice: step.slice }, end));
      break;
    case 'split': {
      const parent = draft.entries.get(sliceText(step.slice));
      const parts = end.into.map(slice => share(parent, slice, end.into.length, end.total, resource));
      await replaceEntries(tx, draft, [step.slice], parts);
      break;
    }
    case 'larger': {
      const entries = partition(drafted(draft)).filter(entry => covers(step.slice, entry.slice));
      const believed = entries.reduce((sum, entry) => sum + (entry.rows ?? 1), 0);
      // At least twice what was believed, so that the next try is sure to gather less.
      const growth = Math.max(end.total / Math.max(believed, 1), 2);
      const larger = entries.map(entry => ({ ...entry, rows: Math.ceil(Math.max(entry.rows ?? 1, 1) * growth) }));
      await replaceEntries(tx, draft, [], larger);
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
      if (task.reportOnly) break;
      const entries = partition(drafted(draft)).filter(entry => covers(step.slice, entry.slice));
      await replaceEntries(
        tx,
        draft,
        [],
        entries.map(entry => ({ ...entry, dueReason: `not proven: ${end.reason}` })),
      );
    }
  }
}

/**
 * The rows that are shown are no longer missing. Where they do not show their date, one that the unfiltered list shows though all
 * windows lack it has none.
 */
async function settleSeen(
  tx: Db,
  draft: Draft,
  step: Step,
  shown: readonly string[],
  { changed }: Outcome,
): Promise<void> {
  const { resource, task, slice } = step;
  const seen = await markSeen(tx, placeOf(resource), shown);
  // Windows and whole readings renew what they show; pages of ids may show a row elsewhere than where it was lacked.
  if (seen.length === 0 || (slice.by === partitionOf(resource) && slice.by !== 'id')) return;
  if (!keepsWindows(resource)) {
    const same = seen.filter(row => !changed.has(row.key));
    // One row is enough to contradict a reading.
    const readings = new Map(same.map(row => [`${row.slice} ${row.since}`, row]));
    for (const row of readings.values()) await doubtReading(tx, draft, step, row);
    return;
  }
  const oldest = oldestProof(drafted(draft));
  const undated = seen.filter(row => oldest !== null && stampMs(row.since) <= oldest);
  const evidence = `${sliceText(slice)} shows row ${undated[0]?.key}, which no window of all time does`;
  if (undated.length > 0) await noteTrait(tx, draft, task, { trait: 'undated', value: 'yes', evidence });
}

/**
 * A row is shown as it is stored, though a reading of the slice that holds it lacked it: what else that reading lacked is not missing
 * until the slice is read again. A source that contradicts itself every time is asked no further: then each row is looked at by itself.
 */
async function doubtReading(tx: Db, draft: Draft, { resource, task, slice, rows }: Step, seen: SeenRow): Promise<void> {
  const lacking = parseSlice(seen.slice);
  const at = stampMs(rows.find(row => row.key === seen.key)?.readAt ?? seen.since);
  const doubted = partition(drafted(draft)).filter(
    entry => entry.slice.by === lacking.by && overlap(entry.slice, lacking) && (entry.provenAt ?? at) < at,
  );
  const name = `doubt ${seen.slice}`;
  const times = task.tries.get(name) ?? 0;
  if (doubted.length === 0 || times >= MOST_TRIES) return;
  const forgotten = await forgetLacked(tx, placeOf(resource), seen);
  if (forgotten.length === 0) return;
  const dueReason = `${sliceText(slice)} shows row ${seen.key}, which it lacked`;
  await replaceEntries(
    tx,
    draft,
    [],
    doubted.map(entry => ({ ...entry, dueSince: at, dueReason })),
  );
  draft.after.push(() => {
    task.tries.set(name, times + 1);
    for (const key of [seen.key, ...forgotten]) task.settled.delete(`confirm ${key}`);
  });
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
  const edges = await edgesInDoubt(tx, step, end, left);
  if (edges.length > 0 && !task.reportOnly) {
    // The next reading asks a day wider, and what that lacks, too, is missing.
    for (const trait of edges)
      await noteTrait(tx, draft, task, {
        trait,
        value: 'in doubt',
        evidence: `${sliceText(end.slice)} lacks rows of that day`,
      });
    return;
  }
  await settleLeft(tx, draft, task, left, end.slice, end.startedAt, outcome.counts);

  if (end.slice.by !== partitionOf(resource)) return;
  const view = drafted(draft);
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

  await removeUncovered(tx, draft, task, outcome.counts);
}

/** The edges of a window that was asked for by just its days, and shows none of the stored rows of the first or the last of them. */
async function edgesInDoubt(
  tx: Db,
  { resource: { dates, table }, seen }: Ended,
  { slice, narrow = [] }: Extract<End, { kind: 'proven' }>,
  left: readonly string[],
): Promise<Edge[]> {
  if (left.length === 0 || narrow.length === 0 || !dates || slice.by !== 'date') return [];
  const lacking = await valuesOf(tx, table, dates.field, left);
  const shown = await valuesOf(tx, table, dates.field, seen);
  return narrow.filter(edge => {
    const day = (edge === 'date from' ? slice.from : slice.to) ?? '';
    return lacking.includes(day) && !shown.includes(day);
  });
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
    const known = watched(drafted(draft)).find(entry => sliceText(entry.slice) === text);
    if (known)
      await replaceEntries(
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

  const left = await leftOf(tx, resource, slice, step.seen, end.startedAt);
  if (left.length === 0) return;
  // A row that lost its date and its status at once is not gone: only the slice that is asked for the purpose confirms.
  const confirms = confirmedBy(resource) === 'value' && slice.field === confirmingField(resource);
  const confirmed = confirms ? await lackedElsewhere(tx, placeOf(resource), left, text) : [];
  await remove(tx, draft, task, confirmed, outcome.counts);
  // The others may just have another value now: the slices that hold them tell.
  const days = resource.dates ? await valuesOf(tx, resource.table, resource.dates.field, left) : [];
  const hinted = partition(drafted(draft)).filter(({ slice: part, provenAt }) => {
    if ((provenAt ?? 0) >= at) return false;
    if (part.by === 'date') return days.some(day => holds(part, day));
    return part.by === 'whole' || (part.by === 'id' && left.some(key => inInterval(part, key)));
  });
  await replaceEntries(
    tx,
    draft,
    [],
    hinted.map(entry => ({ ...entry, dueSince: at, dueReason: `a row left ${text}` })),
  );
}
