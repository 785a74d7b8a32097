import { rankOf } from '../../budget/budget.ts';
import { HOUR } from '../../clock.ts';
import { isKind, SluiceError } from '../../errors.ts';
import { setRunWaiting } from '../../warehouse/ledgers/runs.ts';
import { isAffordable, rereadCost } from '../agenda/affordable.ts';
import { isPause, type Next, type Pause } from '../agenda/choice.ts';
import { monthsHold, summedLists } from '../agenda/closed-months.ts';
import { isKnownAbsent, plan } from '../agenda/plan.ts';
import { listIsGone, othersAnswer } from '../read/absent-list.ts';
import type { Resource } from '../resource.ts';
import { dayIn } from '../slices/date-windows.ts';
import { fail, type Task, type UnderWay } from '../task/task.ts';
import { askNext } from './agenda/ask-next.ts';
import { distrustCounts } from './distrust-counts.ts';
import type { Engine, Loop } from './engine.ts';
import { failList } from './fail-list.ts';
import { hasUnread } from './has-unread.ts';
import { knownMissing } from './known-missing.ts';
import { startReading } from './readings/start-reading.ts';
import { recount } from './recount.ts';
import { dropOtherPartitions } from './recut.ts';
import type { Serves } from './serves.ts';
import { endTask } from './tasks/end-task.ts';

/** What a turn of the loop did. */
export interface Turn {
  /** A reading was started, or a task ended. */
  readonly moved: boolean;
  /** When the first of the tasks that pause goes on (epoch ms); null if none does. */
  readonly wakeAt: number | null;
  /** When the agenda may ask the next question (epoch ms); null if it just asked one, or asks nothing. */
  readonly askAt: number | null;
}

/** Starts the readings that can start, and ends tasks that have nothing left. The agenda asks only if it `asks`. */
export async function begin(
  loop: Loop,
  serves: Serves,
  { now, asks }: { readonly now: number; readonly asks: boolean },
): Promise<Turn> {
  const { engine } = loop;
  let moved = false;
  let wakeAt: number | null = null;
  await decideSyncs(engine, loop.tasks, now);
  const lanes = [...loop.tasks].sort((a, b) => rank(a) - rank(b));
  // Until a live task of a resource can continue, nothing on a lower lane starts there; a backfill would always block it.
  const held = new Map<Resource, number>();
  for (const task of lanes) {
    if (loop.running.size >= engine.concurrency + spareFor(loop, task)) break;
    if (rank(task) > (held.get(task.resource) ?? Number.POSITIVE_INFINITY)) continue;
    const { resource } = task;
    const next = await nextOrFailure(loop, task, now);
    if (next === 'blocked') {
      if (task.lane !== 'live' || resource.reading.size === 0 || waitsForOtherLists(task)) continue;
      held.set(resource, Math.min(rank(task), held.get(resource) ?? Number.POSITIVE_INFINITY));
      for (const reading of below(loop, task))
        reading.room.abort(new SluiceError('stopped', 'A live reading goes first.'));
      continue;
    }
    if (isPause(next)) {
      await notePause(engine, task, next, now);
      wakeAt = Math.min(next.until, wakeAt ?? next.until);
      continue;
    }
    moved = true;
    if (next === 'done') await endTask(loop, task, serves);
    else void startReading(loop, task, next, now);
  }
  if (!loop.agenda || !asks || loop.running.size >= engine.concurrency) return { moved, wakeAt, askAt: null };
  const askAt = await askNext(loop, loop.agenda, now);
  return { moved: moved || askAt === null, wakeAt, askAt };
}

const MAY_LAG = 'answers may not show the latest changes yet (SOURCE_LAG_SECONDS)';

/** Counts the pause and reports it, once. */
async function notePause({ database, onEvent }: Engine, task: Task, { until }: Pause, now: number): Promise<void> {
  const { pauses } = task.progress;
  if (pauses.has(until)) return;
  pauses.add(until);
  await setRunWaiting(database.kysely, [task.runId], until - now, MAY_LAG);
  onEvent?.({ kind: 'pausing', task, waitMs: until - now });
}

/** What the task reads next; an error in the answer fails it. */
async function nextOrFailure(loop: Loop, task: Task, now: number): Promise<Next> {
  try {
    await dropOtherPartitions(loop, task.resource);
    const waits = waitsForRows(loop, task) || waitsForAddress(loop, task, now);
    return waits ? 'blocked' : await nextFor(loop.engine, task, now);
  } catch (error) {
    failList(loop.engine, task, error);
    return task.underWay.size > 0 ? 'blocked' : 'done';
  }
}

async function nextFor(engine: Engine, task: Task, now: number): Promise<Next> {
  const { resource } = task;
  // Start nothing more if the source is down, if the list as a whole has changed, if a newer tick waits, or if nothing is left.
  if (isKind(task.failure, 'unavailable', 'failed') || task.overtaken || task.nothingLeft) {
    if (task.underWay.size > 0) return 'blocked';
    await distrustCounts(engine, task);
    return 'done';
  }
  const missing = await knownMissing(engine, resource);
  task.absent ||= isKnownAbsent(resource, task, now);
  const today = dayIn(now, engine.timeZone);
  const holds = !task.full && monthsHold(resource, engine.resources, now);
  const facts = { missing, now, today, affordable: task.readsAll, monthsHold: holds };
  const next = plan({ list: resource, wish: task, ...facts });
  if (next !== 'done') return next;
  return (await distrustCounts(engine, task)) ? 'blocked' : recount(engine, task, missing);
}

/** One more for a live reading: those of a backfill hold theirs until their slices end. */
const spareFor = ({ tasks }: Loop, { lane }: Task): number =>
  lane === 'live' && tasks.some(other => other.lane !== 'live' && other.underWay.size > 0) ? 1 : 0;

const rank = (task: Task): number => (task.kind === 'hint' ? -1 : rankOf(task.lane));

/** The task only waits until it is decided whether it reads everything; no current reading blocks it. */
const waitsForOtherLists = (task: Task): boolean => task.kind === 'sync' && task.readsAll === null && !hasUnread(task);

/** Readings of the task's resource on lower lanes. */
const below = (loop: Loop, { resource, lane }: Task): UnderWay[] =>
  loop.tasks
    .filter(other => other.resource === resource && rankOf(other.lane) > rankOf(lane))
    .flatMap(other => [...other.underWay]);

/**
 * Decides once for each sync whether it reads everything again, as soon as every list was read in full for the first time. One that does
 * not spends what is left of the limit; one that gets none of it ends, so that nobody waits for it.
 */
async function decideSyncs(engine: Engine, tasks: readonly Task[], now: number): Promise<void> {
  const syncs = tasks.filter(task => task.kind === 'sync');
  const undecided = syncs.filter(task => task.readsAll === null);
  if (undecided.length === 0 || syncs.some(hasUnread)) return;
  const { limit, windowMs, weights = {} } = engine;
  const free = (await engine.forecast?.())?.free ?? limit;
  const requests = undecided.reduce(
    (sum, { resource, since }) => sum + rereadCost(resource, since, monthsHold(resource, engine.resources, now)),
    0,
  );
  const readsAll = isAffordable(requests, { hourly: (limit * HOUR) / windowMs, free });
  const weightOf = ({ resource }: Task) => (weights[resource.name] ?? 1) || 1;
  let all = undecided.reduce((sum, task) => sum + weightOf(task), 0);
  let left = free;
  for (const task of undecided) {
    task.readsAll = readsAll;
    if (readsAll) continue;
    const share = Math.round((left * weightOf(task)) / all);
    left -= share;
    all -= weightOf(task);
    // Rows whose deletion was accepted have to be confirmed, even if that means to wait.
    task.allowance = task.accepted > 0 ? Math.max(share, 1) : share;
    // With --no-wait, the first request that would wait reports it.
    task.nothingLeft = free < 1 && task.allowance === 0 && !engine.noWait;
  }
}

/**
 * A report is read after the lists that it sums up: in a sync, so that it follows what that sync finds, and at first, since what their first
 * readings bring would count as changed and every month would be read a second time.
 */
function waitsForRows({ engine, tasks }: Loop, task: Task): boolean {
  const rows = summedLists(task.resource, engine.resources);
  const goFirst = tasks.filter(other => other.lane === 'live' && rows.includes(other.resource));
  // Until everything was read once, the syncs wait to decide how much they read again: waiting for all of one would be in vain.
  if (hasUnread(task)) return goFirst.some(hasUnread);
  return task.kind === 'sync' && goFirst.some(({ kind }) => kind === 'sync');
}

/** A list that answered 404 waits until another list is answered. If none is, the address is wrong. */
function waitsForAddress(loop: Loop, task: Task, now: number): boolean {
  const { resource } = task;
  if (!task.unanswered) return false;
  if (othersAnswer(resource, loop.engine.resources, { at: now, begunAt: loop.begunAt })) {
    task.unanswered = false;
    return false;
  }
  const waits = loop.tasks.some(
    other => other.resource !== resource && !other.unanswered && !other.failure && !waitsForRows(loop, other),
  );
  if (!waits) fail(task, listIsGone(resource));
  return waits;
}
