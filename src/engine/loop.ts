import pLimit from 'p-limit';
import { type Clock, HOUR, SECOND, stopped } from '../clock.ts';
import { isKind, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Client } from '../source/client.ts';
import { writeCoverage } from '../warehouse/coverage.ts';
import { takeCursors } from '../warehouse/cursors.ts';
import type { Database } from '../warehouse/database.ts';
import { holdsMissing, listMissing } from '../warehouse/missing.ts';
import { databaseNow } from '../warehouse/now.ts';
import { type Order, openOrders, setOrderState } from '../warehouse/orders.ts';
import { holdsQuarantine } from '../warehouse/quarantine.ts';
import { forgetOldWork } from '../warehouse/retention.ts';
import { endAbandonedRuns, endRun, setRunWaiting, startRun } from '../warehouse/runs.ts';
import { overlap, type Slice, sliceText } from '../warehouse/slice.ts';
import { lastSlotAt, openSlots, takeSlot } from '../warehouse/slots.ts';
import { countRows } from '../warehouse/stored.ts';
import { writeTrait } from '../warehouse/traits.ts';
import type { Reader } from './ask.ts';
import { type Choice, choose, idle, type Next } from './choose.ts';
import { type Committer, createCommitter } from './commit.ts';
import { confirmingField, MOST_TRIES } from './conclude.ts';
import { readIds } from './read-ids.ts';
import { readNewest, readOne } from './read-others.ts';
import { MOST_PAGES, readPages, windowReading } from './read-pages.ts';
import { partition, partitionOf, type Resource, wholeCost } from './resource.ts';
import type { Committed, Step } from './step.ts';
import { createTask, fail, type Task, wants } from './task.ts';
import type { Waiting } from './waiting.ts';
import { dayIn } from './windows.ts';

/** One source with everything its loop needs. */
export interface Engine {
  readonly source: string;
  readonly resources: readonly Resource[];
  readonly database: Database;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly timeZone: string;
  readonly pageSize: number | 'auto';
  readonly concurrency: number;
  /** Requests in a window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
  readonly waiting: Waiting;
  readonly onEvent?: (event: LoopEvent) => void;
}

export type LoopEvent =
  | { readonly kind: 'begun' | 'ended'; readonly task: Task; readonly state?: 'done' | 'failed' | 'stopped' | 'paused' }
  | { readonly kind: 'committed'; readonly task: Task; readonly step: Step }
  | { readonly kind: 'waiting'; readonly waitMs: number };

const LANES = { live: 0, backfill: 1, verify: 2 } as const;

/**
 * The one loop that reads a source: take the best slice that is due, read it, commit, go on until nothing is due. Serves open
 * orders, and slots where `serves.slots`. Only the holder of the source's lock runs it. Returns when there is nothing left to do;
 * rejects when nothing can go on (kinds `stopped`, `quota`, `unauthorized`, `database`, `stale`), with everything committed kept.
 */
export async function runLoop(
  engine: Engine,
  serves: { orders: (order: Order) => boolean; slots: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { database, source, resources } = engine;
  const cursors = await takeCursors(
    database.kysely,
    source,
    resources.map(resource => resource.name),
  );
  for (const resource of resources) resource.cursor = cursors.get(resource.name) ?? resource.cursor;
  await endAbandonedRuns(database.kysely, source);
  await forgetOldWork(database.kysely, source);
  for (const resource of resources) {
    const place = { source, resource: resource.name };
    resource.holdsMissing = await holdsMissing(database.kysely, place);
    resource.quarantined = await holdsQuarantine(database.kysely, place);
  }

  const abort = new AbortController();
  const committer = createCommitter({
    ...engine,
    onCommitted: step => engine.onEvent?.({ kind: 'committed', task: step.task, step }),
  });
  const admission = pLimit(2 * engine.concurrency);
  const reader: Reader = {
    client: engine.client,
    pageSize: engine.pageSize,
    ahead: engine.concurrency,
    signal: AbortSignal.any([signal, abort.signal]),
    admit: ask =>
      new Promise((resolve, reject) => {
        void admission(async () => {
          try {
            const value = await ask();
            await new Promise<void>(release => resolve({ value, release }));
          } catch (error) {
            reject(error);
          }
        });
      }),
  };
  const loop: Loop = { engine, committer, reader, tasks: [], running: new Set(), fatal: null, abort };
  try {
    await serve(loop, serves, reader.signal);
  } catch (error) {
    loop.fatal ??= error;
  }
  if (loop.fatal !== null) {
    abort.abort(loop.fatal);
    await Promise.allSettled(loop.running);
    await leaveTasks(loop, loop.fatal);
    throw loop.fatal;
  }
}

interface Loop {
  readonly engine: Engine;
  readonly committer: Committer;
  readonly reader: Reader;
  tasks: Task[];
  readonly running: Set<Promise<void>>;
  /** What stops the whole loop. */
  fatal: unknown;
  readonly abort: AbortController;
}

async function serve(
  loop: Loop,
  serves: { orders: (order: Order) => boolean; slots: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { engine } = loop;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    if (loop.fatal !== null) throw loop.fatal;
    if (signal.aborted) throw stopped(signal);
    const now = await databaseNow(engine.database);
    if (now - refreshedAt >= SECOND || loop.tasks.length === 0) {
      await refreshTasks(loop, serves, now);
      refreshedAt = now;
    }
    const begun = await begin(loop, now);
    if (loop.tasks.length === 0 && loop.running.size === 0) return;
    if (loop.running.size >= engine.concurrency || (!begun && loop.running.size > 0)) await nextEvent(loop);
  }
}

/** Until a reading ends; while the limit holds them all up, orders are looked at again from time to time. */
async function nextEvent(loop: Loop): Promise<void> {
  const { engine } = loop;
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
  await Promise.race([...loop.running, waited]);
  over.abort();
}

/** Starts what can be started, and ends the tasks that have nothing left. Returns whether anything moved. */
async function begin(loop: Loop, now: number): Promise<boolean> {
  const { engine } = loop;
  let moved = false;
  const affordable = isAffordable(engine, loop.tasks);
  const lanes = [...loop.tasks].sort((a, b) => LANES[a.lane] - LANES[b.lane]);
  for (const task of lanes) {
    if (loop.running.size >= engine.concurrency) break;
    await dropOtherPartitions(engine, task.resource);
    const { resource } = task;
    const missing = async () => {
      const place = { source: engine.source, resource: resource.name };
      const { cursor } = resource;
      const rows =
        resource.missing ??
        (await listMissing(engine.database.kysely, place, resource.table, confirmingField(resource)));
      // A commit in the meantime makes them old.
      if (resource.cursor === cursor) resource.missing = rows;
      return rows;
    };
    const unreachable = task.failure?.kind === 'unavailable';
    let next = unreachable ? idle(task) : await choose(task, { now, affordable, missing });
    if (next === 'done' && !unreachable) next = await recount(engine, task);
    if (next === 'blocked') continue;
    moved = true;
    if (next === 'done') await endTask(loop, task);
    else start(loop, task, next, now);
  }
  return moved;
}

/** Half the hourly limit is enough to read everything again that is to be synced. */
function isAffordable(engine: Engine, tasks: readonly Task[]): boolean {
  const hourly = (engine.limit * HOUR) / engine.windowMs;
  const resources = new Set(tasks.filter(task => task.kind === 'sync').map(task => task.resource));
  return [...resources].reduce((sum, resource) => sum + wholeCost(resource), 0) <= hourly / 2;
}

/**
 * Rows without a date lie in no window. When every window was read and the source still counts more rows than there are, the
 * count is asked for again, and if it holds, the list is cut otherwise from then on.
 */
async function recount(engine: Engine, task: Task): Promise<Next> {
  const { resource } = task;
  const everything = task.kind === 'sync' || (task.kind === 'verify' && !task.reportOnly);
  if (!everything || partitionOf(resource) !== 'date' || partition(resource).some(entry => entry.provenAt === null))
    return 'done';
  if (resource.total === null && task.kind === 'sync') return 'done';
  const { rows } = await countRows(
    engine.database.kysely,
    resource.table,
    { by: 'whole' },
    { dateField: undefined, startedAt: null },
  );
  if (resource.total !== null && resource.total <= rows) return 'done';
  if (!task.settled.has('recount')) {
    task.settled.add('recount');
    return { slice: { by: 'newest' }, answers: MOST_PAGES, gathered: false, counted: false };
  }
  if (resource.total === null) return 'done';
  const evidence = `the source counts ${resource.total} rows, its date windows show ${rows}`;
  await writeTrait(engine.database.kysely, engine.source, {
    resource: resource.name,
    trait: 'undated',
    value: 'yes',
    evidence,
  });
  resource.traits.set('undated', 'yes');
  return 'blocked';
}

function start(loop: Loop, task: Task, choice: Choice, now: number): void {
  const { resource } = task;
  resource.reading.add(choice.slice);
  resource.turn++;
  const before = dueIn(resource, choice.slice);
  const reading = read(loop, task, choice, now)
    .then(() => {
      if (task.reportOnly) {
        tried(task, sliceText(choice.slice));
        return;
      }
      // Whatever was read, a slice that stays as it was must not be chosen for ever.
      const after = dueIn(resource, choice.slice);
      for (const [text, provenAt] of before) {
        if (!after.has(text) || after.get(text) !== provenAt) continue;
        tried(task, text);
      }
    })
    .catch(error => {
      // A paused or cancelled order stops its own readings only.
      if (task.abort.signal.aborted && loop.fatal === null) return;
      if (isKind(error, 'refused', 'unavailable', 'failed')) {
        fail(task, error);
        task.settled.add(sliceText(choice.slice));
        for (const text of before.keys()) task.settled.add(text);
      } else loop.fatal ??= error;
    })
    .finally(() => {
      resource.reading.delete(choice.slice);
      loop.running.delete(reading);
    });
  loop.running.add(reading);
}

function tried(task: Task, text: string): void {
  const tries = (task.tries.get(text) ?? 0) + 1;
  task.tries.set(text, tries);
  if (tries >= MOST_TRIES) task.settled.add(text);
}

/** The parts of the partition in a slice, by when they were proven. */
function dueIn(resource: Resource, slice: Slice): Map<string, number | null> {
  const parts = partition(resource).filter(entry => entry.slice.by === slice.by && overlap(entry.slice, slice));
  return new Map(parts.map(entry => [sliceText(entry.slice), entry.provenAt]));
}

async function read(loop: Loop, task: Task, choice: Choice, now: number): Promise<void> {
  const steps = stepsOf(loop, task, choice, now);
  const commits: Promise<Committed>[] = [];
  try {
    let next = await steps.next({ changed: 0 });
    while (!next.done) {
      const step = next.value;
      if (choice.counted) task.allowance -= step.requests;
      const committed = loop.committer.add(step).finally(step.release);
      // A failure is met below; until then it must not count as unhandled.
      committed.catch(() => undefined);
      commits.push(committed);
      // Only the newest end is read by what the last page brought; else pages are gathered into fewer commits.
      next = await steps.next(choice.slice.by === 'newest' ? await committed : { changed: 0 });
    }
  } finally {
    await steps.return();
    await Promise.all(commits);
  }
}

function stepsOf(loop: Loop, task: Task, choice: Choice, now: number): AsyncGenerator<Step, void, Committed> {
  const { engine } = loop;
  const { slice } = choice;
  const reader: Reader = { ...loop.reader, signal: AbortSignal.any([loop.reader.signal, task.abort.signal]) };
  switch (slice.by) {
    case 'id':
      return readIds(reader, engine.database, task, slice, choice.answers);
    case 'date':
      return readPages(reader, task, windowReading(task, slice, dayIn(now, engine.timeZone), choice.gathered));
    case 'value':
      return readPages(reader, task, {
        slice,
        query: { [slice.field]: slice.value },
        whenRead: startedAt => ({ kind: 'targeted', complete: true, startedAt }),
      });
    case 'whole':
      return readPages(reader, task, {
        slice,
        query: {},
        whenRead: startedAt => ({ kind: 'proven', slice, startedAt }),
      });
    case 'newest':
      return readNewest(reader, task, choice.answers);
    case 'one':
      return readOne(reader, task, slice);
  }
}

/** Orders and slots that are new become tasks; paused and cancelled orders stop being tasks. */
async function refreshTasks(
  loop: Loop,
  serves: { orders: (order: Order) => boolean; slots: boolean },
  now: number,
): Promise<void> {
  const { engine } = loop;
  const { database, source } = engine;
  const orders = await openOrders(database.kysely, source);
  const open = new Map(orders.map(order => [order.id, order]));
  for (const task of [...loop.tasks]) {
    if (task.orderId === null) continue;
    const state = open.get(task.orderId)?.state;
    if (state === 'waiting' || state === 'running') continue;
    await dropTask(loop, task, state === 'paused' ? 'The order was paused.' : 'The order was cancelled.');
  }
  for (const order of orders) {
    if (order.state === 'paused' || !serves.orders(order) || loop.tasks.some(task => task.orderId === order.id))
      continue;
    const resource = engine.resources.find(each => each.name === order.resource);
    if (!resource) {
      await setOrderState(database.kysely, order.id, ['waiting', 'running'], 'failed', {
        reason: `There is no job for "${order.resource}".`,
      });
      continue;
    }
    const runId = await startRun(database.kysely, {
      source,
      resource: resource.name,
      kind: order.kind,
      orderId: order.id,
      slotAt: null,
    });
    await setOrderState(database.kysely, order.id, ['waiting'], 'running');
    const last = await lastSlotAt(database.kysely, source, resource.name);
    addTask(
      loop,
      createTask({
        kind: order.kind,
        resource,
        runId,
        orderId: order.id,
        since: order.createdAt,
        lane: order.kind === 'sync' ? 'live' : order.kind,
        allowance: shareOf(loop, last, now),
        from: order.dateFrom,
        to: order.dateTo,
        reportOnly: order.kind === 'verify' && !order.repair,
        deep: order.kind === 'verify',
        accepted: Math.max(order.acceptDeletes - order.deleted, 0),
      }),
    );
  }
  if (!serves.slots) return;
  for (const slot of await openSlots(database.kysely, source)) {
    const resource = engine.resources.find(each => each.name === slot.resource);
    if (!resource) continue;
    // A newer tick takes over: what is watched comes first again, and the rest goes on where it was.
    const older = loop.tasks.find(task => task.kind === 'slot' && task.resource === resource);
    if (older) await endTask(loop, older);
    const runId = await startRun(database.kysely, {
      source,
      resource: resource.name,
      kind: 'slot',
      orderId: null,
      slotAt: slot.slotAt,
    });
    await takeSlot(database.kysely, source, slot, runId);
    addTask(
      loop,
      createTask({
        kind: 'slot',
        resource,
        runId,
        orderId: null,
        since: slot.at,
        lane: 'live',
        allowance: shareOf(loop, slot.previousAt, slot.at),
      }),
    );
  }
}

/** What the limit has refilled since the resource's last slot, split evenly; half of it while a backfill or verify needs the rest. */
function shareOf(loop: Loop, previousAt: number | null, now: number): number {
  const { limit, windowMs, resources } = loop.engine;
  const elapsed = previousAt === null ? 1 : Math.min(Math.max(now - previousAt, 0) / windowMs, 1);
  const others = loop.tasks.some(task => task.lane !== 'live') ? 2 : 1;
  return Math.max(Math.floor((limit * elapsed) / resources.length / others), 1);
}

function addTask(loop: Loop, task: Task): void {
  loop.tasks.push(task);
  loop.engine.onEvent?.({ kind: 'begun', task });
}

async function endTask(loop: Loop, task: Task): Promise<void> {
  const { engine } = loop;
  const { kysely } = engine.database;
  loop.tasks = loop.tasks.filter(each => each !== task);
  const doubtful = partition(task.resource).filter(
    entry => wants(task, entry.slice) && (task.tries.get(sliceText(entry.slice)) ?? 0) >= MOST_TRIES,
  );
  if (doubtful[0]) {
    const { slice, dueReason } = doubtful[0];
    const others = doubtful.length > 1 ? ` and ${doubtful.length - 1} more` : '';
    const message = `${task.resource.name}: what the source answers for "${sliceText(slice)}"${others} does not add up (${dueReason ?? 'no reading covered it'}).`;
    fail(
      task,
      new SluiceError('failed', message, { next: 'What was read is kept; the next run reads these slices again.' }),
    );
  }
  const state = task.failure ? 'failed' : 'done';
  await endRun(kysely, task.runId, { state, reason: task.failure?.message, next: task.failure?.next });
  if (task.orderId !== null) {
    const { absent, different } = task.findings;
    // A row that moved is missed in one slice and found different in another.
    const extra = [...task.findings.extra].filter(key => !different.has(key));
    const unproven = partition(task.resource)
      .filter(entry => wants(task, entry.slice) && (entry.provenAt === null || doubtful.includes(entry)))
      .map(entry => sliceText(entry.slice));
    const report =
      task.kind === 'verify'
        ? {
            absent: [...absent],
            different: [...different],
            extra,
            unproven,
          }
        : undefined;
    await setOrderState(kysely, task.orderId, ['waiting', 'running'], state, {
      reason: task.failure ? [task.failure.message, task.failure.next].filter(Boolean).join(' ') : null,
      ...(report ? { report } : {}),
    });
  }
  // What one resource did not need goes to the others of this turn.
  const rest = loop.tasks.filter(each => each.kind === 'slot');
  if (task.kind === 'slot' && task.allowance > 0)
    for (const other of rest) other.allowance += task.allowance / rest.length;
  engine.onEvent?.({ kind: 'ended', task, state });
}

async function dropTask(loop: Loop, task: Task, reason: string): Promise<void> {
  task.abort.abort(new SluiceError('stopped', reason));
  loop.tasks = loop.tasks.filter(each => each !== task);
  await endRun(loop.engine.database.kysely, task.runId, { state: 'stopped', reason });
  loop.engine.onEvent?.({ kind: 'ended', task, state: 'paused' });
}

/** The loop cannot go on: runs end with the reason, orders stay open so that the next process goes on from the last commit. */
async function leaveTasks(loop: Loop, error: unknown): Promise<void> {
  const { engine } = loop;
  const kept = isKind(error, 'stopped', 'quota', 'stale', 'database');
  const message = error instanceof Error ? error.message : String(error);
  const next = isKind(error, 'unauthorized', 'database') ? error.next : undefined;
  for (const task of loop.tasks) {
    engine.onEvent?.({ kind: 'ended', task, state: kept ? 'stopped' : 'failed' });
    try {
      await endRun(engine.database.kysely, task.runId, {
        state: isKind(error, 'stopped', 'quota', 'stale') ? 'stopped' : 'failed',
        reason: message,
        next,
      });
      if (task.orderId === null) continue;
      if (kept) await setOrderState(engine.database.kysely, task.orderId, ['running'], 'waiting');
      else
        await setOrderState(engine.database.kysely, task.orderId, ['waiting', 'running'], 'failed', {
          reason: message,
        });
    } catch (cause) {
      // The database may be what failed; the next holder of the lock ends these runs.
      engine.log.debug({ reason: String(cause) }, 'could not record the end of a run');
    }
  }
}

/** A list that turned out to be ordered or filtered otherwise is cut anew; what was known of the old slices is dropped. */
async function dropOtherPartitions(engine: Engine, resource: Resource): Promise<void> {
  if (resource.reading.size > 0) return;
  const by = partitionOf(resource);
  const others: Slice[] = [...resource.entries.values()]
    .map(entry => entry.slice)
    .filter(slice => ['id', 'date', 'whole'].includes(slice.by) && slice.by !== by);
  if (others.length === 0) return;
  await writeCoverage(engine.database.kysely, { source: engine.source, resource: resource.name }, others, []);
  for (const slice of others) resource.entries.delete(sliceText(slice));
}
