import { stampMs } from '../../clock.ts';
import { isUnreadableKey } from '../../source/paging/row-key.ts';
import { rollbackTo, savepoint, type Transaction } from '../../warehouse/database/database.ts';
import { keepCount } from '../../warehouse/ledgers/orders.ts';
import type { Counts } from '../../warehouse/ledgers/runs.ts';
import { type BadRecord, quarantine, resolveQuarantine } from '../../warehouse/rows/quarantine.ts';
import { keepAnswers, type ShownAnswer, stillStored } from '../../warehouse/rows/write/known-answers.ts';
import type { Row } from '../../warehouse/rows/write/row.ts';
import { holdLosses } from '../changes/hold-losses.ts';
import { noteDrift } from '../changes/note-drift.ts';
import {
  noteWindows,
  observeEdits,
  observeExtras,
  observeFields,
  observeSortKeys,
  observeUndated,
} from '../changes/observe-rows.ts';
import { conclude } from '../conclude/conclude.ts';
import { countsOf, remember, type TransactionEffects } from '../conclude/transaction-effects.ts';
import { groupBy } from '../group-by.ts';
import type { Observation } from '../profile/observation.ts';
import { contradictsAddress } from '../profile/observe-address.ts';
import { type Committed, type Step, showsNewest, startOf } from '../read/step.ts';
import { placeOf } from '../resource.ts';
import { sliceText } from '../slices/slice.ts';
import { type Judge, type WrittenRows, writeOrSetAside } from './write-or-set-aside.ts';

/** Writes the rows of the steps of one resource, and applies what follows from each step. */
export async function writeSteps(
  tx: Transaction,
  effects: TransactionEffects,
  steps: readonly Step[],
  options: { rowByRow: boolean },
): Promise<Map<Step, Committed>> {
  const results = new Map<Step, Committed>();
  const given = await rereadWhereOther(tx, effects, steps);
  effects.steps.push(...given);
  for (const step of given) await rememberStep(tx, effects, step);
  // The writes of a task that only compares are rolled back; the other steps are written together.
  for (const [reportOnly, group] of groupBy(given, step => step.task.reportOnly)) {
    const write = reportOnly ? compareSteps : storeSteps;
    await write(tx, effects, group, { ...options, results });
  }
  return new Map(steps.map((step, index) => [step, results.get(given[index] as Step) as Committed]));
}

/**
 * The steps as they are to be written: an answer that came before counts only as long as its rows are stored as it showed them, and no other step
 * writes one of them.
 */
async function rereadWhereOther(
  tx: Transaction,
  { resource }: TransactionEffects,
  steps: readonly Step[],
): Promise<readonly Step[]> {
  const known = steps.flatMap(step => step.known ?? []);
  if (known.length === 0) return steps;
  const isStored = await stillStored(tx.alone, resource.table, known);
  const written = new Set([
    ...steps.flatMap(({ rows }) => rows.map(({ key }) => key)),
    ...known.flatMap(({ keys }, index) => (isStored[index] ? [] : keys)),
  ]);
  const isWritten = (key: string) => written.has(key);
  return steps.map(step =>
    step.known?.keys.some(isWritten) ? { ...step, ...step.known.instead(), known: undefined } : step,
  );
}

type Options = { readonly rowByRow: boolean; readonly results: Map<Step, Committed> };

/** Stores what the answer shows about the list, even if its rows are only compared. */
async function rememberStep(tx: Transaction, effects: TransactionEffects, step: Step): Promise<void> {
  const { resource, task, total } = step;
  for (const observation of [
    ...((step.learnt ?? []) as readonly Observation[]),
    ...observeUndated(step),
    ...observeFields(step),
    ...observeSortKeys(step),
    ...observeExtras(step),
  ])
    remember(effects, task, observation);
  if (total === undefined) return;
  if (total !== null && step.end?.kind === 'targeted') {
    const counted = { rows: total, at: stampMs(step.end.startedAt) };
    const { state, orderId } = task;
    if (orderId !== null && state.counted === null && !state.countAsked) await keepCount(tx, orderId, counted);
    effects.events.push([task, { kind: 'counted', ...counted, windowsHoldAll: step.windowsHoldAll ?? false }]);
  }
  // A page behind the list says nothing of it, and some sources count only at its start.
  const tells = total !== null || resource.strategy.partition !== 'id' || showsNewest(step);
  effects.afterCommit.push(() => {
    if (tells) resource.total = total ?? resource.total ?? null;
  });
}

async function storeSteps(
  tx: Transaction,
  effects: TransactionEffects,
  steps: readonly Step[],
  { rowByRow, results }: Options,
): Promise<void> {
  const { resource } = effects;
  // Before the rows: a record that one answer shows beside a row is not that row, so it must not seem to come after it.
  for (const step of steps)
    await setAside(
      tx,
      effects,
      step,
      step.bad.filter(record => !isReadable(record)),
    );
  let losing: Parameters<Judge>[0]['losing'] = new Map();
  const judge: Judge = given => {
    losing = given.losing;
    return holdLosses(tx, effects, steps, given);
  };
  const written = await writeOrSetAside(tx, resource, steps, { rowByRow, judge });
  const inserted = new Set(written.inserted);
  await noteDrift(tx, effects, steps, losing);
  if (resource.quarantined) await resolveQuarantine(tx, placeOf(resource), written.good);
  const [revived] = written.revived;
  if (revived !== undefined && resource.strategy.confirmation === 'address')
    remember(effects, (steps[0] as Step).task, contradictsAddress(revived));
  if (resource.strategy.membership === 'window') await noteWindows(tx, effects, steps);
  for (const step of steps) {
    const counts = countsOf(effects, step.task);
    const bad = badOf(step, written);
    await setAside(tx, effects, step, bad.filter(isReadable));
    const { changed, edited } = takeChanges(step, written, {
      inserted: key => {
        counts.inserted++;
        if (written.revived.has(key)) counts.revived++;
      },
      updated: () => counts.updated++,
      unchanged: () => counts.unchanged++,
    });
    countStep(counts, step);
    results.set(step, { changed: changed.size });
    const observed = await observeEdits(tx, effects, step, changed, edited);
    if (observed) remember(effects, step.task, observed);
    const outdated = step.rows.flatMap(({ key }) => (written.outdated.has(key) ? key : []));
    await conclude(tx, effects, step, { changed, counts, outdated });
  }
  // Row by row, a newer row of the same commit may have been written over an older one.
  const kept = rowByRow ? [] : steps.flatMap(step => toKeep(step, written, inserted));
  await keepAnswers(tx, placeOf(resource), resource.table, kept);
}

/** The answer, if all of its rows are stored as it shows them, and it is no end that is doubted: that would be judged anew when it comes again. */
function toKeep(
  { keep, end, rows }: Step,
  { refused, unsure }: WrittenRows,
  inserted: ReadonlySet<string>,
): ShownAnswer[] {
  const isDoubted = end?.kind === 'split' || end?.kind === 'larger' || end?.kind === 'unproven';
  if (keep === undefined || isDoubted || keep.keys.some(key => refused.has(key) || unsure.has(key))) return [];
  const fresh = rows.filter(({ key }) => inserted.has(key));
  const linesOf = ({ children }: Row) => Object.values(children).reduce((sum, lines) => sum + lines.length, 0);
  return [{ ...keep, inserted: new Map(fresh.map(row => [row.key, linesOf(row)])) }];
}

/** Writes the rows to see what would change, and rolls back. Of the rest, only new sizes and splits of slices are kept. */
async function compareSteps(
  tx: Transaction,
  effects: TransactionEffects,
  steps: readonly Step[],
  { rowByRow, results }: Options,
): Promise<void> {
  const { resource } = effects;
  await savepoint(tx, 'report');
  const written = await writeOrSetAside(tx, resource, steps, { rowByRow });
  if (resource.quarantined) await resolveQuarantine(tx, placeOf(resource), written.good);
  await rollbackTo(tx, 'report');
  for (const step of steps) {
    const counts = countsOf(effects, step.task);
    const bad = badOf(step, written);
    const { findings } = step.task;
    for (const { key } of bad) findings.unreadable.add(key);
    if (resource.strategy.membership === 'window') for (const { key } of step.rows) findings.shown.add(key);
    const { changed } = takeChanges(step, written, {
      inserted: key => findings.absent.add(key),
      updated: key => findings.different.add(key),
      unchanged: () => counts.unchanged++,
    });
    countStep(counts, step);
    results.set(step, { changed: changed.size });
    await conclude(tx, effects, step, { changed, counts, outdated: [] });
  }
}

async function setAside(
  tx: Transaction,
  effects: TransactionEffects,
  step: Step,
  bad: readonly BadRecord[],
): Promise<void> {
  if (bad.length === 0) return;
  const { resource } = effects;
  const shown = { slice: sliceText(step.slice), startedAt: startOf(step) };
  countsOf(effects, step.task).quarantined += await quarantine(tx, placeOf(resource), shown, bad);
  resource.quarantined = true;
}

const isReadable = ({ key }: BadRecord): boolean => !isUnreadableKey(key);

const badOf = (step: Step, { refused }: WrittenRows): BadRecord[] => [
  ...step.bad,
  ...step.rows.flatMap(row => refused.get(row.key) ?? []),
];

/** The new or different rows of the step. A row that several steps returned counts for the first of them. */
function takeChanges(
  { rows }: Step,
  { inserted, updated }: WrittenRows,
  on: Record<'inserted' | 'updated' | 'unchanged', (key: string) => unknown>,
): { changed: Set<string>; edited: string[] } {
  const changed = new Set<string>();
  const edited = rows.filter(row => updated.has(row.key)).map(row => row.key);
  for (const { key } of rows) {
    const outcome = inserted.delete(key) ? 'inserted' : updated.delete(key) ? 'updated' : 'unchanged';
    if (outcome !== 'unchanged') changed.add(key);
    on[outcome](key);
  }
  return { changed, edited };
}

function countStep(counts: Counts, step: Step): void {
  counts.requests += step.requests;
  const known = step.known?.keys.length ?? 0;
  counts.rowsRead += step.rows.length + step.bad.length + known;
  counts.unchanged += known;
  counts.replaced += step.replaced ?? 0;
}
