import { stampMs } from '../../clock.ts';
import { isNumberedKey, isUnreadableKey } from '../../source/paging/row-key.ts';
import type { Transaction } from '../../warehouse/database/database.ts';
import { REPORT } from '../../warehouse/ledgers/cursors.ts';
import { forgetLacked, markMissing, noteShown, unmarkMissing } from '../../warehouse/rows/missing-rows.ts';
import { seeAnew } from '../../warehouse/rows/quarantine.ts';
import { compareRows, countEach, readStoredAt } from '../../warehouse/rows/stored-rows.ts';
import { sliceAsOf } from '../coverage/as-of.ts';
import { settlesDoubt } from '../coverage/hidden-rows.ts';
import { pageSize, partition } from '../coverage/list.ts';
import { growParts, partsIn, splitEntry } from '../coverage/prove.ts';
import { confirmsByNewest } from '../coverage/targeted.ts';
import {
  contradictions,
  leftOutRow,
  type SeenAgain,
  shownByAddress,
  staysMissing,
  undatedRow,
} from '../deletion/contradiction.ts';
import { isDeleted, UNCOVERED } from '../deletion/is-deleted.ts';
import { believed } from '../deletion/lag.ts';
import { countAgrees } from '../profile/counts.ts';
import { observeCutFilter } from '../profile/lacked-by-value.ts';
import { observeLeftOut, withShown } from '../profile/limited-span.ts';
import type { Observation } from '../profile/observation.ts';
import { showsRelated } from '../profile/strategy.ts';
import { type End, type Step, shownBy, showsNewest, startOf } from '../read/step.ts';
import { placeOf, type Resource } from '../resource.ts';
import { type Day, holds } from '../slices/date-windows.ts';
import { type DateSlice, sliceText } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { steadyMiscount } from '../task/task-state.ts';
import { concludeProven } from './conclude-proven.ts';
import { concludeTargeted, dueLater } from './conclude-targeted.ts';
import { concludeTotal } from './conclude-total.ts';
import type { Ended, Written } from './ended.ts';
import { remove } from './remove-rows.ts';
import { membersOf, settleCount } from './settle-missing.ts';
import { changeCoverage, remember, resourceIn, type TransactionEffects } from './transaction-effects.ts';

/** Applies what follows from a step, in the transaction that writes its rows: missing rows and deletions; cursor and coverage are noted for its end. */
export async function conclude(
  tx: Transaction,
  effects: TransactionEffects,
  step: Step,
  written: Written,
): Promise<void> {
  const { resource, task, end } = step;
  const shown = shownBy(step);
  effects.events.push([task, { kind: 'shown', rows: shown }]);
  if (!task.reportOnly && resource.holdsMissing) await settleSeen(tx, effects, step, shown, written);
  if (!task.reportOnly && resource.leftOut.length > 0 && step.slice.by === 'date')
    settleLeftOut(effects, task, step.slice, shown);
  if (step.slice.by === resource.strategy.partition)
    for (const observed of observeCutFilter(
      resource.profile.lackedByValue,
      resource.strategy.relatedBy,
      step.rows,
      resource.lagMs,
    ))
      remember(effects, task, observed);
  const { outdated } = written;
  const startedAt = startOf(step);
  // Somebody waits for these rows; others are read in their turn.
  if (task.kind === 'refresh' && outdated.length > 0 && startedAt !== null) {
    const at = stampMs(startedAt);
    const dueReason = `rows changed in ${sliceText(step.slice)}`;
    await dueLater(tx, effects, step, outdated, { at, dueAt: at }, dueReason);
  }
  const keys = keepPosition(effects, step, shown);
  if (!task.reportOnly && step.beside) changeCoverage(effects, { put: step.beside });
  if (end) await concludeReading(tx, effects, { ...step, end }, keys, written);
  // What the answer itself lacks is missing by now.
  const isCounted = !task.reportOnly && resource.holdsMissing && confirmsByNewest(resource) && showsNewest(step);
  if (isCounted && step.total != null)
    await settleCount(tx, effects, { counted: step.total, at: stampMs(startOf(step) as string) });
}

/** `keys`: all that the reading has shown. */
async function concludeReading(
  tx: Transaction,
  effects: TransactionEffects,
  step: Step & { readonly end: End },
  keys: readonly string[],
  written: Written,
): Promise<void> {
  const { resource, task, end } = step;
  written.counts.slices++;
  const seen = keys.filter(key => !isUnreadableKey(key));
  // One with an id that cannot be stored is none of the stored rows.
  const unreadable = keys.filter(isNumberedKey);
  if (!task.reportOnly && step.lastDayShown) await observeLastDay(tx, effects, task, step.lastDayShown, seen);
  await concludeEnd(tx, effects, { ...step, end, seen, unreadable }, written);
  const { doubtedCount } = resource.profile;
  const isShown = end.kind === 'proven' || (end.kind === 'targeted' && end.complete);
  if (doubtedCount !== null && isShown && !task.reportOnly && settlesDoubt(resourceIn(effects), step.slice))
    remember(effects, task, countAgrees(doubtedCount));
}

/** Stores the position of the reading, or removes it at the end. Returns all keys that the reading showed. */
function keepPosition({ readings }: TransactionEffects, step: Step, shown: readonly string[]): readonly string[] {
  const { task, slice, position, end, anew } = step;
  const name = `${task.reportOnly ? REPORT : ''}${sliceText(slice)}`;
  const startedAt = startOf(step);
  const kept = readings[name];
  // An older reading of the same slice may have left keys; they do not count.
  const before = kept?.startedAt === startedAt && !anew ? kept : undefined;
  const seen = [...new Set(before ? [...before.keys, ...shown] : shown)];
  if (end) delete readings[name];
  else if (position) readings[name] = { ...position, keys: seen };
  return seen;
}

async function concludeEnd(tx: Transaction, effects: TransactionEffects, step: Ended, written: Written): Promise<void> {
  const { resource, slice, end } = step;
  switch (end.kind) {
    case 'proven': {
      const instead = await concludeProven(tx, effects, { ...step, end }, written);
      return instead ? concludeEnd(tx, effects, { ...step, end: instead }, written) : undefined;
    }
    case 'targeted':
      return concludeTargeted(tx, effects, { ...step, end }, written);
    case 'gone':
      return concludeGone(tx, effects, { ...step, end }, written);
    case 'total':
      return concludeTotal(tx, effects, { ...step, end });
    case 'split':
      return changeCoverage(
        effects,
        splitEntry(resourceIn(effects), slice, await storedIn(tx, resource, end.into), end.total),
      );
    case 'larger':
      return changeCoverage(effects, growParts(resourceIn(effects), slice, end.total));
    case 'unproven':
      return concludeUnproven(tx, effects, { ...step, end }, written);
  }
}

/** A reading did not add up, or was given up. What it showed is written; it proves nothing. */
async function concludeUnproven(
  tx: Transaction,
  effects: TransactionEffects,
  step: Ended<'unproven'>,
  written: Written,
): Promise<void> {
  const { resource, task, slice, end } = step;
  const { startedAt, givenUp, miscounted, miscountedRows, rows } = end;
  // A targeted slice proves no range, so its rows are kept and it is not read again in this run.
  const targeted = { kind: 'targeted', complete: false, startedAt } as const;
  if (showsRelated(resource.strategy, slice) && miscounted !== undefined && isOnePage(step)) {
    const evidence = `${sliceText(slice)}: ${end.reason}`;
    remember(effects, task, { trait: `filter ${slice.field}`, value: 'cut', evidence });
    return concludeTargeted(tx, effects, { ...step, end: targeted }, written);
  }
  // The reading may have proven some of its parts.
  const parts = partsIn(resourceIn(effects), slice).filter(part => (part.provenAt ?? 0) < stampMs(startedAt));
  for (const by of [miscounted, miscountedRows])
    if (by !== undefined) effects.events.push([task, { kind: 'miscounted', slice: sliceText(slice), by }]);
  const slices = [slice, ...parts.map(part => part.slice)].map(sliceText);
  // Where one count was wrong again and again, others of the list are not worth as many tries: they are judged at the end of the task.
  const isHopeless = (miscounted ?? miscountedRows) !== undefined && steadyMiscount(task.state) !== null;
  if (givenUp || isHopeless) effects.events.push([task, { kind: 'given up', slices }]);
  if (slice.by === 'value') return concludeTargeted(tx, effects, { ...step, end: targeted }, written);
  if (task.reportOnly) return;
  if (rows !== undefined && resource.dates) remember(effects, task, lowered(resource.dates.field, rows));
  const dueReason = `not proven: ${end.reason}`;
  changeCoverage(effects, {
    put: parts.map(entry => ({ ...entry, readAt: stampMs(startedAt), rows: rows ?? entry.rows, dueReason })),
  });
}

/** One answer shows other rows than it counts: nothing changed in between. */
const isOnePage = ({ seen, unreadable, resource }: Ended): boolean =>
  seen.length + unreadable.length < pageSize(resource);

/** A shorter window may show rows that others left out. */
function settleLeftOut(effects: TransactionEffects, task: Task, window: DateSlice, shown: readonly string[]): void {
  const { resource } = effects;
  const leftOut = () => withShown(resource.leftOut, window, shown);
  for (const observed of observeLeftOut(leftOut())) remember(effects, task, observed);
  effects.afterCommit.push(() => {
    resource.leftOut = leftOut();
  });
}

/**
 * A window that lacked rows of its last day may show that day in part: where the source keeps times of day, only rows that have none. It does not
 * if it shows all stored rows of a day that another window, which reaches beyond it, has shown in full.
 */
async function observeLastDay(
  tx: Transaction,
  effects: TransactionEffects,
  task: Task,
  day: Day,
  seen: readonly string[],
): Promise<void> {
  const { resource } = effects;
  const condition = membersOf(resource, { by: 'date', from: day, to: day });
  if (resource.profile.dateTo !== 'in doubt' || resource.strategy.membership === 'window' || !condition) return;
  const wasShown = partition(resourceIn(effects)).some(
    ({ slice, provenAt }) =>
      slice.by === 'date' && provenAt !== null && holds(slice, day) && (slice.to === null || slice.to > day),
  );
  if (!wasShown) return;
  const { left, rows } = await compareRows(tx.alone, resource.table, condition, seen);
  if (left.length > 0 || rows === 0) return;
  const evidence = `asked to ${day}, got all ${rows} rows of that day`;
  remember(effects, task, { trait: 'date to', value: 'inclusive', evidence });
}

/** So many rows may be all that the source shows at once, whatever it showed before. */
const lowered = (field: string, rows: number): Observation => ({
  trait: `longest ${field}`,
  value: `${rows}` as const,
  evidence: `a reading by ${field} showed ${rows} rows and may have been cut off`,
});

/** How many rows of each window are stored; null where rows do not show their date. */
async function storedIn(
  tx: Transaction,
  resource: Resource,
  windows: readonly DateSlice[],
): Promise<{ slice: DateSlice; stored: number | null }[]> {
  if (resource.strategy.membership === 'window') return windows.map(slice => ({ slice, stored: null }));
  const conditions = windows.map(slice => membersOf(resource, slice));
  const counts = await countEach(tx.alone, resource.table, conditions);
  return windows.map((slice, index) => ({ slice, stored: counts[index]?.rows ?? null }));
}

/** The source answered 404 for the row's own address. */
async function concludeGone(
  tx: Transaction,
  effects: TransactionEffects,
  { resource, task, slice, end }: Ended<'gone'>,
  { counts }: Written,
): Promise<void> {
  const claims = { key: end.key, value: null, lacks: [], denied: true };
  if (task.reportOnly || !isDeleted(claims, UNCOVERED, resource.strategy)) return;
  const stored = await readStoredAt(tx, resource.table, [end.key]);
  if (believed(stored, { at: stampMs(end.at), lagMs: resource.lagMs }).askAgainAt !== null) return;
  await markMissing(tx, placeOf(resource), [end.key], {
    slice: sliceText(slice),
    startedAt: end.at,
    endedAt: end.at,
    lagMs: resource.lagMs,
    provenBefore: sliceAsOf(resource, slice),
  });
  resource.holdsMissing = true;
  await remove(tx, effects, task, [end.key], counts);
}

/** Rows that are shown are no longer missing. If they contradict the reading that lacked them, that reading is in doubt. */
async function settleSeen(
  tx: Transaction,
  effects: TransactionEffects,
  step: Step,
  shown: readonly string[],
  { changed }: Written,
): Promise<void> {
  const { resource, task, slice, rows } = step;
  const found = await (staysMissing(resource, slice) ? noteShown : unmarkMissing)(tx, placeOf(resource), shown);
  if (found.some(({ unreadable }) => unreadable)) await seeAnew(tx, placeOf(resource), startOf(step));
  const again = found.map(({ key, slice, since, readings = 1 }): SeenAgain => {
    const at = stampMs(rows.find(row => row.key === key)?.readAt ?? since);
    return { key, slice, since: stampMs(since), readings, changed: changed.has(key), at };
  });
  const list = resourceIn(effects);
  const unseen = undatedRow(list, slice, again) ?? leftOutRow(list, slice, again);
  if (unseen) remember(effects, task, unseen);
  const doubts = (text: string) => task.state.doubts.get(text) ?? 0;
  const hides = shownByAddress(slice, again, doubts);
  if (hides) remember(effects, task, hides);
  for (const { row, due } of contradictions(list, slice, again, doubts)) {
    const reading = found.find(({ key }) => key === row.key);
    const forgotten = reading ? await forgetLacked(tx, placeOf(resource), reading) : [];
    changeCoverage(effects, { put: due });
    effects.events.push([task, { kind: 'contradicted', slice: row.slice, rows: forgotten }]);
  }
}
