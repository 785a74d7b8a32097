import { rankOf } from '../../budget/budget.ts';
import { HOUR } from '../../clock.ts';
import { isKind, SluiceError } from '../../errors.ts';
import { listMissing, type MissingRow } from '../../warehouse/rows/missing-rows.ts';
import type { Next } from '../agenda/choice.ts';
import { isKnownAbsent, plan } from '../agenda/plan.ts';
import { partition, wholeCost } from '../coverage/list.ts';
import { placeOf, type Resource } from '../resource.ts';
import { dayIn } from '../slices/date-windows.ts';
import { sliceText } from '../slices/slice.ts';
import type { Task, UnderWay } from '../task/task.ts';
import { distrustCounts } from './distrust-counts.ts';
import type { Engine, Loop } from './engine.ts';
import { startReading } from './readings/start-reading.ts';
import { recount } from './recount.ts';
import { dropOtherPartitions } from './recut.ts';
import type { Serves } from './serves.ts';
import { endTask } from './tasks/end-task.ts';

/** Starts the readings that can start, and ends tasks that have nothing left. Returns whether it did either. */
export async function begin(loop: Loop, serves: Serves, now: number): Promise<boolean> {
  const { engine } = loop;
  let moved = false;
  const affordable = isAffordable(engine, loop.tasks);
  const lanes = [...loop.tasks].sort((a, b) => rank(a) - rank(b));
  // Until a live task of a resource can continue, nothing on a lower lane starts there; a backfill would always block it.
  const held = new Map<Resource, number>();
  for (const task of lanes) {
    // One more for live readings: a backfill's readings hold theirs until their slices end.
    if (loop.running.size >= engine.concurrency + (task.lane === 'live' ? 1 : 0)) break;
    if (rank(task) > (held.get(task.resource) ?? Number.POSITIVE_INFINITY)) continue;
    const { resource } = task;
    await dropOtherPartitions(engine, resource);
    const next = await nextFor(engine, task, affordable, now);
    if (next === 'blocked') {
      if (task.lane !== 'live' || resource.reading.size === 0 || waitsForOtherLists(task, affordable)) continue;
      held.set(resource, Math.min(rank(task), held.get(resource) ?? Number.POSITIVE_INFINITY));
      for (const reading of below(loop, task))
        reading.room.abort(new SluiceError('stopped', 'A live reading goes first.'));
      continue;
    }
    moved = true;
    if (next === 'done') await endTask(loop, task, serves);
    else startReading(loop, task, next, now);
  }
  return moved;
}

/** What the task reads next. */
async function nextFor(engine: Engine, task: Task, affordable: boolean | null, now: number): Promise<Next> {
  const { resource } = task;
  // Start nothing more if the source is down, if the list as a whole has changed, or if a newer tick waits.
  if (isKind(task.failure, 'unavailable', 'failed') || task.overtaken)
    return task.underWay.size > 0 ? 'blocked' : 'done';
  const missing = await missingOf(engine, resource);
  task.absent ||= isKnownAbsent(resource, task, now);
  const today = dayIn(now, engine.timeZone);
  const next = plan({ list: resource, wish: task, missing, now, today, affordable });
  if (next !== 'done') return next;
  return (await distrustCounts(engine, task)) ? 'blocked' : recount(engine, task, missing);
}

/** The missing rows, queried again after each commit. */
async function missingOf(engine: Engine, resource: Resource): Promise<readonly MissingRow[]> {
  if (!resource.holdsMissing) return [];
  const { cursor } = resource;
  const rows =
    resource.missing ??
    (await listMissing(engine.database.kysely, placeOf(resource), resource.table, resource.strategy.relatedBy));
  // Not kept if a commit came in between.
  if (resource.cursor === cursor) resource.missing = rows;
  return rows;
}

const rank = (task: Task): number => (task.kind === 'hint' ? -1 : rankOf(task.lane));

/** The task only waits for `affordable` to be known; no current reading blocks it. */
const waitsForOtherLists = (task: Task, affordable: boolean | null): boolean =>
  task.kind === 'sync' && affordable === null && !hasUnread(task);

/** Readings of the task's resource on lower lanes. */
const below = (loop: Loop, { resource, lane }: Task): UnderWay[] =>
  loop.tasks
    .filter(other => other.resource === resource && rankOf(other.lane) > rankOf(lane))
    .flatMap(other => [...other.underWay]);

/** Whether everything to be synced can be read again for half the hourly limit; null until every part was read once. */
function isAffordable(engine: Engine, tasks: readonly Task[]): boolean | null {
  const hourly = (engine.limit * HOUR) / engine.windowMs;
  const syncs = tasks.filter(task => task.kind === 'sync');
  if (syncs.some(hasUnread)) return null;
  const resources = new Set(syncs.map(task => task.resource));
  return [...resources].reduce((sum, resource) => sum + wholeCost(resource), 0) <= hourly / 2;
}

/** Whether parts of the list were never read and not given up. */
const hasUnread = (task: Task): boolean =>
  task.failure === null &&
  !task.absent &&
  partition(task.resource).some(
    ({ provenAt, slice }) => provenAt === null && !task.progress.done.has(sliceText(slice)),
  );
