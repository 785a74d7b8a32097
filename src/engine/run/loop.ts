import { linkSignals } from '../../any-signal.ts';
import type { Lane } from '../../budget/budget.ts';
import { DAY, MINUTE, SECOND, stopped } from '../../clock.ts';
import { isKind, SluiceError } from '../../errors.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { takeCursors } from '../../warehouse/ledgers/cursors.ts';
import { forgetOldWork } from '../../warehouse/ledgers/retention.ts';
import { endAbandonedRuns } from '../../warehouse/ledgers/runs.ts';
import { lookForWork } from '../../warehouse/reports/due.ts';
import { clampToClock } from '../../warehouse/rows/clamp-to-clock.ts';
import { createCommitter } from '../apply/committer.ts';
import { othersAnswering } from '../read/fetch/absent-list.ts';
import type { Reader } from '../read/fetch/fetch-page.ts';
import { createRecall } from '../read/fetch/recall.ts';
import { refreshResources } from '../resource.ts';
import { type Task, update } from '../task/task.ts';
import { openAgenda } from './agenda.ts';
import { carryOut, keepPace } from './carry-out.ts';
import type { Engine, Loop, Serves } from './engine.ts';
import { lookAtLimit } from './limit-seen.ts';
import { leaveWaiting, longWait, readingTasks } from './long-wait.ts';
import { next } from './next/next.ts';
import { createAdmissions } from './readings/admission.ts';
import type { State } from './state.ts';
import { leaveTasks } from './tasks/end-task.ts';
import { takeHinted } from './tasks/take-hints.ts';
import { takeOrders } from './tasks/take-orders.ts';
import { takeSlots } from './tasks/take-slots.ts';
import { addTask } from './tasks/task-list.ts';
import { createWakes } from './wakes.ts';

/**
 * Reads a source until nothing is left to do: open orders; with `serves.slots` also slots and hints, with `serves.agenda` also the best
 * questions, for as long as it runs. Only the holder of the source's lock may run it. Errors that stop it, after which all commits are kept:
 * `stopped`, `quota`, `unauthorized`, `configuration`, `database`, `stale`.
 */
export async function runLoop(engine: Engine, serves: Serves, signal: AbortSignal): Promise<void> {
  let goesOn = false;
  // The next one corrects what is dated ahead, and continues from the last commit.
  while ((await runUntilOver(engine, serves, signal, goesOn)) === 'clock put back') goesOn = true;
}

/** `goesOn`: this process has read before. */
async function runUntilOver(
  engine: Engine,
  serves: Serves,
  signal: AbortSignal,
  goesOn: boolean,
): Promise<'over' | 'clock put back'> {
  const refusal = await prepare(engine, serves, goesOn);
  const abort = new AbortController();
  const linked = linkSignals([signal, abort.signal]);
  const { loop, nextCommit } = await openLoop(engine, serves, linked.signal, refusal);
  try {
    const waitMs = await workUntilIdle(loop, serves, linked.signal, nextCommit);
    if (waitMs !== null) {
      abort.abort(new SluiceError('stopped', 'The request limit is used up; the source is free for others meanwhile.'));
      await Promise.allSettled(loop.running);
      if (loop.fatal === null || isKind(loop.fatal, 'stopped')) {
        await leaveWaiting(loop, waitMs);
        return 'over';
      }
    }
  } catch (error) {
    loop.fatal ??= error;
  } finally {
    if (loop.fatal !== null) abort.abort(loop.fatal);
    await Promise.allSettled(loop.running);
    linked.unlink();
  }
  if (loop.fatal === null) return 'over';
  await leaveTasks(loop, loop.fatal, serves);
  if (!engine.seenTime.wasPutBack) throw loop.fatal;
  if (!signal.aborted) return 'clock put back';
  throw isKind(loop.fatal, 'stale') ? stopped(signal) : loop.fatal;
}

/** Takes the lists over, and dates anew what is dated ahead. Returns why the source may not be asked; null if it may. */
async function prepare(engine: Engine, serves: Serves, goesOn: boolean): Promise<Loop['refusal']> {
  const { database, source, resources } = engine;
  const tables = resources.map(({ table }) => table);
  const now = await databaseNow(database);
  const aheadMs = now - engine.clock.now();
  engine.seenTime.restart(now);
  // Before all else: a reader that lost the lock writes nothing from now on.
  await takeOver(engine, goesOn);
  if (await clampToClock(database, source, tables)) {
    engine.log.warn(
      { source },
      'the clock of the database was put back: what was read while it was ahead counts as read now',
    );
    serves.agenda?.attempts.clear();
    serves.agenda?.cutAt.clear();
    // Some readings begin anew.
    await takeOver(engine, true);
  }
  const refusal = (await engine.findRefusal?.()) ?? null;
  await endAbandonedRuns(database.kysely, source);
  // What is kept for weeks would be gone after minutes in which the database's clock is wrong.
  if (aheadMs < DAY) await forgetOldWork(database.kysely, source, engine.retention, tables);
  else
    engine.log.warn(
      { source, days: Math.floor(aheadMs / DAY) },
      "the database's clock is days ahead of this machine's, so nothing old is deleted",
    );
  // Another process may have read this source in the meantime.
  await refreshResources(database.kysely, resources);
  return refusal;
}

/** `nextCommit` resolves with the next step that is committed. */
async function openLoop(
  engine: Engine,
  serves: Serves,
  signal: AbortSignal,
  refusal: Loop['refusal'],
): Promise<{ loop: Loop; nextCommit: () => Promise<void> }> {
  const begunAt = await databaseNow(engine.database);
  const committed: (() => void)[] = [];
  const committer = createCommitter({
    ...engine,
    onCommitted: step => {
      engine.onEvent?.({ kind: 'committed', task: step.task, step });
      for (const listener of committed.splice(0)) listener();
    },
  });
  // A kill loses what was admitted.
  const admissions = createAdmissions(engine.concurrency);
  const recall = createRecall(engine.database.kysely, engine.timeZone, engine.fewestKnown);
  const readerOf = (lane: Lane): Reader => ({
    client: engine.client,
    pageSize: engine.pageSize,
    ahead: engine.concurrency,
    signal,
    recall,
    admit: admissions[lane === 'live' ? 'live' : 'others'],
    othersAnswering: (list, at) => othersAnswering(list, engine.resources, { at, begunAt }),
  });
  const limit = serves.slots && serves.agenda ? await lookAtLimit(engine, begunAt) : null;
  const agenda = limit && serves.agenda ? await openAgenda(engine, serves.agenda, limit, begunAt) : null;
  const running: Loop['running'] = new Set();
  const loop: Loop = { engine, committer, readerOf, begunAt, tasks: [], agenda, limit, running, refusal, fatal: null };
  return { loop, nextCommit: () => new Promise<void>(resolve => committed.push(resolve)) };
}

/** `goesOn`: this process has read before; throws kind `stale` if another has taken over since. */
async function takeOver({ database, source, resources }: Engine, goesOn: boolean): Promise<void> {
  const names = resources.map(resource => resource.name);
  const leftAt = goesOn ? Object.fromEntries(resources.map(({ name, cursor }) => [name, cursor.version])) : null;
  const cursors = await takeCursors(database.kysely, source, names, leftAt);
  for (const resource of resources) resource.cursor = cursors.get(resource.name) ?? resource.cursor;
}

/** Creates tasks for new orders, hints and slots. `now`: the database's time before; `isWanted`: a command waits for the source. */
async function refreshTasks(loop: Loop, serves: Serves): Promise<{ now: number; isWanted: boolean }> {
  const { database, source, seenTime } = loop.engine;
  const note = seenTime.asking();
  const { now, orders, hints, slots, isWanted } = await lookForWork(database.kysely, source);
  note(now);
  // Slices seem to be proven since work that was asked for afterwards.
  seenTime.check();
  if (orders || loop.tasks.some(({ orderId }) => orderId !== null)) await takeOrders(loop, serves.orders);
  if (hints && serves.slots) for (const task of await takeHinted(loop, now)) addTask(loop, task);
  if (slots && serves.slots) await takeSlots(loop, now);
  return { now, isWanted };
}

/**
 * Returns null when nothing is left to do, or with `serves.yields` the milliseconds until the request limit allows a request.
 */
async function workUntilIdle(
  loop: Loop,
  serves: Serves,
  signal: AbortSignal,
  nextCommit: () => Promise<void>,
): Promise<number | null> {
  const { engine } = loop;
  /** When tasks were refreshed, by the database's clock and by this machine's. */
  let refreshed = { now: 0, at: Number.NEGATIVE_INFINITY };
  const lookAgain = () => {
    refreshed = { ...refreshed, at: Number.NEGATIVE_INFINITY };
  };
  let mayEnd = false;
  const wakes = createWakes(loop, serves, nextCommit);
  const lookMs = serves.onWoken ? LOOK_TOLD_MS : SECOND;
  for (;;) {
    const isWoken = wakes.takeNotice();
    if (loop.fatal !== null) throw loop.fatal;
    if (signal.aborted) throw stopped(signal);
    if (serves.draining?.aborted) {
      if (loop.running.size === 0 || longWait(loop) !== null) throw stopped(serves.draining);
      await wakes.next();
      continue;
    }
    const sinceMs = engine.clock.now() - refreshed.at;
    const looksNow = isWoken || sinceMs < 0 || sinceMs >= lookMs;
    if (looksNow) {
      const { now: seen, isWanted } = await refreshTasks(loop, serves);
      refreshed = { now: seen, at: engine.clock.now() };
      mayEnd = isWanted || isTurnOver(loop, serves, seen);
    }
    const now = refreshed.now + engine.clock.now() - refreshed.at;
    if (loop.refusal) throw loop.refusal;
    const mayAsk = loop.tasks.length > 0 || now - loop.begunAt < TURN_MS || !mayEnd;
    const act = next(stateOf(loop, now, mayAsk));
    if (act.kind !== 'wait') {
      await carryOut(loop, serves, act, now);
      continue;
    }
    if (loop.agenda && act.pace) keepPace(loop, loop.agenda, act.pace);
    if (loop.running.size > 0) {
      // `idle` follows seconds in which no reading ended; by then every granted request was answered.
      const why = await wakes.next();
      if (why === 'page') lookAgain();
      if (why === 'idle') leaveQueue(loop);
      const waitMs = serves.yields && why === 'idle' ? longWait(loop) : null;
      if (waitMs !== null) return waitMs;
      continue;
    }
    const isIdle = loop.tasks.length === 0;
    if (isIdle && (act.askAt === null || mayEnd)) {
      if (looksNow) return null;
      // Something may have come since.
      lookAgain();
      continue;
    }
    // What is blocked with nothing being read does not become free by waiting for the pace.
    const until = isIdle ? act.askAt : act.wakeAt;
    if (until === null) for (const task of loop.tasks) standsStill(task);
    else await wakes.sleep(Math.min(until - now, 5 * SECOND), signal);
  }
}

function stateOf({ engine, tasks, running, agenda, begunAt, limit }: Loop, now: number, mayAsk: boolean): State {
  const [lists, granted] = [engine.resources, engine.granted()];
  return { now, begunAt, rules: engine, lists, tasks, running: running.size, limit, granted, agenda, mayAsk };
}

/** How often a loop that is told of work looks for it: notices may be lost, and a command that waits for the source sends none. */
const LOOK_TOLD_MS = 5 * SECOND;
/** The agenda asks for so long even while other sources wait, unless its pace makes it wait before. */
const TURN_MS = MINUTE;
/** The agenda asks for so long at most: the next loop looks afresh at what is stored. */
const MOST_LIFE_MS = 10 * MINUTE;

const isTurnOver = ({ begunAt }: Loop, { othersWait }: Serves, now: number): boolean =>
  othersWait === undefined || othersWait() || now - begunAt > MOST_LIFE_MS;

function standsStill(task: Task): void {
  const message = `${task.resource.name}: a slice is left that cannot be read now, and nothing is being read.`;
  const next = 'What was read is kept; the next run starts anew. Please report this as a bug in Sluice.';
  update(task, { kind: 'failed', error: new SluiceError('failed', message, { next }) });
  update(task, { kind: 'closed', why: 'broken' });
}

/**
 * Aborts readings that were asked to stop but still wait for the request limit, which may take an hour. None of them has a
 * request in flight.
 */
function leaveQueue(loop: Loop): void {
  for (const { stopAsking, abort } of readingTasks(loop).flatMap(task => [...task.underWay]))
    if (stopAsking.signal.aborted) abort.abort(stopAsking.signal.reason);
}
