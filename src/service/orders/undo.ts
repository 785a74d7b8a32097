import { partition } from '../../engine/coverage/list.ts';
import type { Job } from '../../engine/job.ts';
import { declareTable } from '../../engine/records/declare-table.ts';
import { openResource, placeOf, type Resource } from '../../engine/resource.ts';
import { wholeTime } from '../../engine/slices/date-windows.ts';
import { sliceText } from '../../engine/slices/slice.ts';
import { SluiceError } from '../../errors.ts';
import type { Database, Db } from '../../warehouse/database/database.ts';
import { fillRestored } from '../../warehouse/database/fill-from-extra.ts';
import { VERSION_DAYS } from '../../warehouse/ledgers/retention.ts';
import { recordUndo } from '../../warehouse/ledgers/runs.ts';
import { readRun } from '../../warehouse/reports/run-history.ts';
import { openRewrites, settleRewrites } from '../../warehouse/rows/rewrites.ts';
import { keepWindows } from '../../warehouse/rows/row-windows.ts';
import { sliceCondition } from '../../warehouse/rows/slice-condition.ts';
import { tableIn } from '../../warehouse/rows/tables.ts';
import {
  gatherUndone,
  lockLists,
  makeDueAndTakeOver,
  restoreUndone,
  type Undone,
} from '../../warehouse/rows/undo-runs.ts';
import { listed } from '../format.ts';
import { wakeUp } from '../schedule/wake-ups.ts';
import type { ServedSource } from '../status/served-source.ts';

/** What undoing runs did to a list, or would do. */
export interface UndoneList extends Omit<Undone, 'keysDeleted'> {
  readonly resource: string;
  /** The run that undoes; null for a dry run, and where there was nothing to restore. */
  readonly undoRun: string | null;
  /** Slices that are to be read again. */
  readonly due: number;
}

type UndoSource = Pick<ServedSource, 'name' | 'schema' | 'jobs'>;

/**
 * Restores what the runs replaced or deleted, in one transaction and without a request. What has changed since stays as it is. Kind `usage` for a
 * run that the source does not have, `failed` where nothing of them is kept.
 */
export async function undoRuns(
  database: Database,
  source: UndoSource,
  ids: readonly string[],
  { dryRun }: { dryRun: boolean },
): Promise<UndoneList[]> {
  const jobs = [...(await listsOf(database.kysely, source, ids))];
  // All of them, since changes of the schema are numbered: see `logCtes`.
  const tables = [...source.jobs].map(
    ([name, job]) => [name, tableIn(source.schema, declareTable(name, job))] as const,
  );
  const undone = await database.transaction(async tx => {
    await lockLists(tx, source.name, new Map(tables));
    const lists: UndoneList[] = [];
    for (const [name, job] of jobs) {
      // Only now: a reading may have cut its slices anew until they were locked.
      const resource = await openResource(tx, { source: source.name, name, job, schema: source.schema });
      lists.push(await undoList(tx, resource, ids, dryRun));
    }
    return lists;
  });
  if (undone.every(({ replaced, deleted, changedSince }) => replaced + deleted + changedSince === 0))
    throw new SluiceError('failed', `Nothing is kept that ${runsText(ids)} replaced or deleted.`, {
      next: `What a run replaces is kept for ${VERSION_DAYS} days, and longer where HISTORY_<NAME> is on.`,
    });
  if (!dryRun) await wakeUp(database, source.name);
  return undone;
}

export const runsText = (ids: readonly string[]): string => `${ids.length === 1 ? 'run' : 'runs'} ${listed(ids)}`;

/** The lists that the runs read. */
async function listsOf(db: Db, { name, jobs }: UndoSource, ids: readonly string[]): Promise<Map<string, Job>> {
  const lists = new Map<string, Job>();
  for (const id of ids) {
    const run = await readRun(db, id);
    const job = run?.source === name ? jobs.get(run.resource) : undefined;
    if (run === null || job === undefined)
      throw new SluiceError('usage', `${name} has no run ${id} of a list that is read here.`, {
        next: 'The runs of a list: sluice sql "select id, resource, kind, started_at, updated, deleted from sluice.runs order by id desc limit 20"',
      });
    lists.set(run.resource, job);
  }
  return lists;
}

async function undoList(tx: Db, resource: Resource, ids: readonly string[], dryRun: boolean): Promise<UndoneList> {
  const { name, table, strategy, dates } = resource;
  const place = placeOf(resource);
  const { keysDeleted, ...undone } = await gatherUndone(tx, table, name, ids);
  const { replaced, deleted } = undone;
  if (dryRun || replaced + deleted === 0) return { resource: name, ...undone, undoRun: null, due: 0 };
  const reason = `Undid ${runsText(ids)}.`;
  const undoRun = await recordUndo(tx, place, { updated: replaced, revived: deleted, reason });
  await restoreUndone(tx, table, place, undoRun);
  await fillRestored(tx, table.schema, declareTable(name, resource.job));
  // Rows of a list that hides their dates are found by the window that showed them.
  if (strategy.membership === 'window') await keepWindows(tx, place, keysDeleted, wholeTime, new Date(0).toISOString());
  const slices = partition(resource).map(({ slice }) => ({
    slice: sliceText(slice),
    holds: strategy.membership === 'window' ? null : sliceCondition(slice, table, dates?.field),
  }));
  const due = await makeDueAndTakeOver(tx, table, place, slices, `${runsText(ids)} was undone`);
  const open = await openRewrites(tx, resource.source, [name]);
  const settled = open.filter(({ runIds }) => runIds.some(id => ids.includes(id)));
  await settleRewrites(
    tx,
    place,
    settled.map(({ field }) => field),
    'undone',
  );
  return { resource: name, ...undone, undoRun, due };
}
