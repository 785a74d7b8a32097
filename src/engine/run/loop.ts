import pLimit from 'p-limit';
import type { Lane } from '../../budget/budget.ts';
import { HOUR, SECOND, stopped } from '../../clock.ts';
import { isKind, SluiceError } from '../../errors.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import type { Entry } from '../../warehouse/ledgers/coverage.ts';
import { takeCursors } from '../../warehouse/ledgers/cursors.ts';
import { forgetOldWork } from '../../warehouse/ledgers/retention.ts';
import { endAbandonedRuns, setRunWaiting } from '../../warehouse/ledgers/runs.ts';
import { holdsMissing, listMissing } from '../../warehouse/rows/missing.ts';
import { holdsQuarantine } from '../../warehouse/rows/quarantine.ts';
import { createCommitter } from '../apply/commit.ts';
import { confirmingField } from '../apply/gone.ts';
import type { Reader } from '../read/fetch-page.ts';
import { partition, placeOf, type Resource, refreshResource, wholeCost } from '../resource.ts';
import { dayIn } from '../slices/date-windows.ts';
import { overlap, type Slice, sliceText } from '../slices/slice.ts';
import { type Choice, choose } from './choose.ts';
import type { Engine, Loop } from './engine.ts';
import { dropOtherPartitions, leaveOut, recount } from './repartition.ts';
import { read } from './run-reading.ts';
import type { Serves } from './serves.ts';
import { fail, MOST_TRIES, type Task, type UnderWay } from './task.ts';
import { endTask, leaveTasks, refreshTasks } from './tasks.ts';
import { leaveWaiting, longWait } from './yield.ts';

const LANES = { live: 0, backfill: 1, verify: 2 } as const;

/**
 * The one loop that reads a source: take the best slice that is due, read it, commit, go on until nothing is due. Serves open
 * orders, and slots where `serves.slots`. Only the holder of the source's lock runs it. Returns when there is nothing left to do;
 * rejects when nothing can go on (kinds `stopped`, `quota`, `unauthorized`, `configuration`, `database`, `stale`), with everything
 * committed kept.
 */
export async function runLoop(engine: Engine, serves: Serves, signal: AbortSignal): Promise<void> {
  const { database, source, resources } = engine;
  const cursors = await takeCursors(
    database.kysely,
    source,
    resources.map(resource => resource.name),
  );
  for (const resource of resources) resource.cursor = cursors.get(resource.name) ?? resource.cursor;
  await endAbandonedRuns(database.kysely, source);
  await forgetOldWork(database.kysely, source, engine.retention);
  for (const resource of resources) {
    // Another process may have read since this one last did.
    await refreshResource(database, resource);
    resource.holdsMissing = await holdsMissing(database.kysely, placeOf(resource));
    resource.quarantined = await holdsQuarantine(database.kysely, placeOf(resource));
  }

  const abort = new AbortController();
  const committed: (() => void)[] = [];
  const committer = createCommitter({
    ...engine,
    onCommitted: step => {
      engine.onEvent?.({ kind: 'committed', task: step.task, step });
      for (const listener of committed.splice(0)) listener();
    },
  });
  // Live answers have places of their own: a backfill's hold theirs until they are committed.
  const live = createAdmission(engine.concurrency);
  const others = createAdmission(2 * engine.concurrency);
  const over = AbortSignal.any([signal, abort.signal]);
  const readerOf = (lane: Lane): Reader => ({
    client: engine.client,
    pageSize: engine.pageSize,
    ahead: engine.concurrency,
    signal: over,
    admit: lane === 'live' ? live : others,
  });
  const loop: Loop = { engine, committer, readerOf, tasks: [], running: new Set(), fatal: null };
  try {
    const nextCommit = () => new Promise<void>(resolve => committed.push(resolve));
    const waitMs = await serve(loop, serves, over, nextCommit);
    if (waitMs !== null) {
      abort.abort(new SluiceError('stopped', 'The request limit is used up; the source is free for others meanwhile.'));
      await Promise.allSettled(loop.running);
      if (loop.fatal === null || isKind(loop.fatal, 'stopped')) return await leaveWaiting(loop, waitMs);
    }
  } catch (error) {
    loop.fatal ??= error;
  }
  if (loop.fatal !== null) {
    abort.abort(loop.fatal);
    await Promise.allSettled(loop.running);
    await leaveTasks(loop, loop.fatal, serves);
    throw loop.fatal;
  }
}

/** So many answers at a time, each from its request until it is released. */
function createAdmission(most: number): Reader['admit'] {
  const admission = pLimit(most);
  return ask =>
    new Promise((resolve, reject) => {
      void admission(async () => {
        try {
          const value = await ask();
          await new Promise<void>(release => resolve({ value, release }));
        } catch (error) {
          reject(error);
        }
      });
    });
}

/** Returns null when nothing is left to do, or for how long everything has to wait, where `serves.yields`. */
async function serve(
  loop: Loop,
  serves: Serves,
  signal: AbortSignal,
  nextCommit: () => Promise<void>,
): Promise<number | null> {
  const { engine } = loop;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    if (loop.fatal !== null) throw loop.fatal;
    if (signal.aborted) throw stopped(signal);
    if (serves.draining?.aborted) {
      if (loop.running.size === 0 || longWait(loop) !== null) throw stopped(serves.draining);
      await nextEvent(loop, nextCommit);
      continue;
    }
    const now = await databaseNow(engine.database);
    if (now - refreshedAt >= SECOND || loop.tasks.length === 0) {
      await refreshTasks(loop, serves, now);
      refreshedAt = now;
    }
    if (engine.refusal) throw engine.refusal;
    const begun = await begin(loop, serves, now);
    if (loop.tasks.length === 0 && loop.running.size === 0) return null;
    if (loop.running.size < engine.concurrency && (begun || loop.running.size === 0)) continue;
    // Only after some seconds in which no reading ended: what was granted before the limit was met is home by then.
    const event = await nextEvent(loop, nextCommit);
    if (event === 'page') refreshedAt = Number.NEGATIVE_INFINITY;
    if (event === 'idle') leaveQueue(loop);
    const waitMs = serves.yields && event === 'idle' ? longWait(loop) : null;
    if (waitMs !== null) return waitMs;
  }
}

/** Until a reading ends; while the limit holds them all up (`idle`), orders are looked at again from time to time. */
async function nextEvent(loop: Loop, nextCommit: () => Promise<void>): Promise<'ended' | 'page' | 'idle'> {
  const { engine } = loop;
  // What people pause and cancel stops between two pages, not with its slice.
  const page = loop.tasks.some(task => task.kind === 'backfill') ? [nextCommit().then(() => 'page' as const)] : [];
  const over = new AbortController();
  const waited = engine.waiting.begun().then(async () => {
    if (over.signal.aborted) return;
    const left = engine.waiting.left();
    if (left > 5 * SECOND) {
      await setRunWaiting(
        engine.database.kysely,
        loop.tasks.map(task => task.runId),
        left,
      );
      engine.onEvent?.({ kind: 'waiting', waitMs: left });
    }
    await engine.clock.sleep(Math.min(left, 5 * SECOND), over.signal).catch(() => undefined);
  });
  const ended = [...loop.running].map(each => each.then(() => 'ended' as const));
  const event = await Promise.race([...ended, ...page, waited.then(() => 'idle' as const)]);
  over.abort();
  return event;
}

/** Starts what can be started, and ends the tasks that have nothing left. Returns whether anything moved. */
async function begin(loop: Loop, serves: Serves, now: number): Promise<boolean> {
  const { engine } = loop;
  let moved = false;
  const affordable = isAffordable(engine, loop.tasks);
  const lanes = [...loop.tasks].sort((a, b) => rank(a) - rank(b));
  // Until a live task of a resource can go on, nothing below it is begun there: a backfill would always be in its way.
  const held = new Map<Resource, number>();
  for (const task of lanes) {
    // One place more for live readings: a backfill's hold theirs until their slices end.
    if (loop.running.size >= engine.concurrency + (task.lane === 'live' ? 1 : 0)) break;
    if (rank(task) > (held.get(task.resource) ?? Number.POSITIVE_INFINITY)) continue;
    await dropOtherPartitions(engine, task.resource);
    const { resource } = task;
    const missing = async () => {
      const { cursor } = resource;
      const rows =
        resource.missing ??
        (await listMissing(engine.database.kysely, placeOf(resource), resource.table, confirmingField(resource)));
      // A commit in the meantime makes them old.
      if (resource.cursor === cursor) resource.missing = rows;
      return rows;
    };
    // Nothing more is tried where the source does not answer or the list as a whole is not what it was, or a newer tick waits.
    const over = isKind(task.failure, 'unavailable', 'failed') || task.overtaken;
    const ended = task.underWay.size > 0 ? 'blocked' : 'done';
    let next = over ? ended : await choose(task, { now, today: dayIn(now, engine.timeZone), affordable, missing });
    if (next === 'done' && !over) next = await recount(engine, task);
    if (next === 'blocked') {
      if (task.lane !== 'live' || resource.reading.size === 0 || waitsForOtherLists(task, affordable)) continue;
      held.set(resource, Math.min(rank(task), held.get(resource) ?? Number.POSITIVE_INFINITY));
      for (const reading of below(loop, task))
        reading.room.abort(new SluiceError('stopped', 'A live reading goes first.'));
      continue;
    }
    moved = true;
    if (next === 'done') await endTask(loop, task, serves);
    else start(loop, task, next, now);
  }
  return moved;
}

const rank = (task: Task): number => (task.kind === 'hint' ? -1 : LANES[task.lane]);

/** All that is left is to hear whether everything is read again: no reading is in its way. */
const waitsForOtherLists = (task: Task, affordable: boolean | null): boolean =>
  task.kind === 'sync' && affordable === null && !partition(task.resource).some(entry => isToBeRead(task, entry));

/** Readings of the task's resource on lower lanes. */
const below = (loop: Loop, { resource, lane }: Task): UnderWay[] =>
  loop.tasks
    .filter(other => other.resource === resource && LANES[other.lane] > LANES[lane])
    .flatMap(other => [...other.underWay]);

/** Those that were to make room and still wait for the request limit, which may take an hour, have nothing in flight by now. */
function leaveQueue(loop: Loop): void {
  for (const { room, abort } of loop.tasks.flatMap(task => [...task.underWay]))
    if (room.signal.aborted) abort.abort(room.signal.reason);
}

/** Half the hourly limit is enough to read everything again that is to be synced; null while parts never read leave that open. */
function isAffordable(engine: Engine, tasks: readonly Task[]): boolean | null {
  const hourly = (engine.limit * HOUR) / engine.windowMs;
  const syncs = tasks.filter(task => task.kind === 'sync');
  if (syncs.some(task => partition(task.resource).some(entry => isToBeRead(task, entry)))) return null;
  const resources = new Set(syncs.map(task => task.resource));
  return [...resources].reduce((sum, resource) => sum + wholeCost(resource), 0) <= hourly / 2;
}

/** Never read, and not given up. */
const isToBeRead = (task: Task, entry: Entry): boolean =>
  entry.provenAt === null && !task.settled.has(sliceText(entry.slice)) && task.failure === null && !task.absent;

function start(loop: Loop, task: Task, choice: Choice, now: number): void {
  const { resource } = task;
  resource.reading.add(choice.slice);
  resource.turn++;
  const before = partsIn(resource, choice.slice);
  const underWay = { room: new AbortController(), abort: new AbortController() };
  task.underWay.add(underWay);
  const places = new Set<() => void>();
  const compared = task.settled.size + task.intervals.length;
  const reading = read(
    { ...loop, readerOf: lane => stoppable(loop.readerOf(lane), underWay, places) },
    task,
    choice,
    now,
  )
    .then(() => {
      // A chain of answers need not reach all of the slices it was begun for; but where nothing came of it, they must not be chosen
      // for ever.
      const after = partsIn(resource, choice.slice);
      const moved = [...before].some(([text, known]) => after.get(text) !== known);
      if (!moved && (!task.reportOnly || task.settled.size + task.intervals.length === compared))
        for (const text of before.keys()) tried(task, text);
    })
    .catch(async error => {
      if (isKind(error, 'absent')) {
        return await leaveOut(loop.engine, task, now).catch((cause: unknown) => {
          loop.fatal ??= cause;
        });
      }
      // A paused or cancelled order stops its own readings only.
      if (task.abort.signal.aborted && loop.fatal === null) return;
      if (underWay.room.signal.aborted && isKind(error, 'stopped')) return;
      if (isKind(error, 'refused', 'unavailable', 'failed')) {
        fail(task, error);
        task.settled.add(sliceText(choice.slice));
        for (const text of before.keys()) task.settled.add(text);
      } else {
        if (task.kind === 'hint') task.targets.unshift(choice.slice);
        loop.fatal ??= error;
      }
    })
    .finally(() => {
      for (const giveBack of places) giveBack();
      resource.reading.delete(choice.slice);
      task.underWay.delete(underWay);
      loop.running.delete(reading);
    });
  loop.running.add(reading);
}

/** `places`: those that its answers hold, to be given back when it ends, however it ends. */
function stoppable(reader: Reader, { room, abort }: UnderWay, places: Set<() => void>): Reader {
  return {
    ...reader,
    signal: AbortSignal.any([reader.signal, abort.signal]),
    admit: async ask => {
      const { value, release } = await reader.admit(() => {
        if (room.signal.aborted) throw stopped(room.signal);
        return ask();
      });
      const giveBack = () => {
        places.delete(giveBack);
        release();
      };
      places.add(giveBack);
      return { value, release: giveBack };
    },
  };
}

function tried(task: Task, text: string): void {
  const tries = (task.tries.get(text) ?? 0) + 1;
  task.tries.set(text, tries);
  if (tries >= MOST_TRIES) task.settled.add(text);
}

/** The parts of the partition in a slice, by when they were proven and how large they are thought to be. */
function partsIn(resource: Resource, slice: Slice): Map<string, string> {
  const parts = partition(resource).filter(entry => entry.slice.by === slice.by && overlap(entry.slice, slice));
  return new Map(parts.map(entry => [sliceText(entry.slice), `${entry.provenAt} ${entry.rows}`]));
}
