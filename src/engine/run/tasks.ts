import { isKind, SluiceError, sentence } from '../../errors.ts';
import type { Db } from '../../warehouse/database/database.ts';
import { NOT_OFFERED } from '../../warehouse/ledgers/coverage.ts';
import { returnHints } from '../../warehouse/ledgers/hints.ts';
import { type Order, openOrders, setOrderState } from '../../warehouse/ledgers/orders.ts';
import { endRun, spentOnSlot, startRun } from '../../warehouse/ledgers/runs.ts';
import { lastSlotAt, openSlots, takeSlot } from '../../warehouse/ledgers/slots.ts';
import { countAgain } from '../apply/gone.ts';
import { partition, placeOf } from '../resource.ts';
import { sliceText } from '../slices/slice.ts';
import type { Loop } from './engine.ts';
import { takeHinted } from './hints.ts';
import { createTask, fail, MOST_TRIES, type Task, wants } from './task.ts';

/** Orders, hints and slots that are new become tasks; paused and cancelled orders stop being tasks. */
export async function refreshTasks(
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
    if (
      order.state === 'paused' ||
      order.rests ||
      !serves.orders(order) ||
      loop.tasks.some(task => task.orderId === order.id)
    )
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
        allowance: shareOf(loop, resource, last, now),
        from: order.dateFrom,
        to: order.dateTo,
        reportOnly: order.kind === 'verify' && !order.repair,
        deep: order.kind === 'verify',
        accepted: Math.max(order.acceptDeletes - order.deleted, 0),
      }),
    );
  }
  if (!serves.slots) return;
  for (const task of await takeHinted(loop, now)) addTask(loop, task);
  for (const slot of await openSlots(database.kysely, source)) {
    const resource = engine.resources.find(each => each.name === slot.resource);
    // A newer tick takes over: what is watched comes first again, and the rest goes on where it was. The older one ends with
    // its readings, whose failures are its own; where it could ask for nothing yet, the newer one waits until it has.
    const older = loop.tasks.find(task => task.kind === 'slot' && task.resource.name === slot.resource);
    if (older) {
      older.overtaken = older.counts.requests > 0;
      continue;
    }
    const spent = await spentOnSlot(database.kysely, source, slot);
    const runId = await startRun(database.kysely, {
      source,
      resource: slot.resource,
      kind: 'slot',
      orderId: null,
      slotAt: slot.slotAt,
    });
    await takeSlot(database.kysely, source, slot, runId);
    if (!resource) {
      // Left open it would be due for ever.
      await endRun(database.kysely, runId, { state: 'failed', reason: `There is no job for "${slot.resource}".` });
      continue;
    }
    addTask(
      loop,
      createTask({
        kind: 'slot',
        resource,
        runId,
        orderId: null,
        since: slot.at,
        lane: 'live',
        allowance: Math.max(shareOf(loop, resource, slot.previousAt, slot.at) - spent, 0),
      }),
    );
  }
}

/**
 * What the limit has refilled since the resource's last slot, split by weight; half of it while a backfill or verify needs the
 * rest. A weight of 0 (no schedule of its own) takes nothing from the others; what is ordered then counts as 1.
 */
export function shareOf(
  loop: {
    readonly engine: Pick<Loop['engine'], 'limit' | 'windowMs' | 'weights'> & {
      resources: readonly { name: string }[];
    };
    readonly tasks: readonly Pick<Task, 'lane'>[];
  },
  resource: { readonly name: string },
  previousAt: number | null,
  now: number,
): number {
  const { limit, windowMs, resources, weights = {} } = loop.engine;
  const elapsed = previousAt === null ? 1 : Math.min(Math.max(now - previousAt, 0) / windowMs, 1);
  const others = loop.tasks.some(task => task.lane !== 'live') ? 2 : 1;
  const own = (weights[resource.name] ?? 1) || 1;
  const all = resources.reduce((sum, each) => sum + (each.name === resource.name ? own : (weights[each.name] ?? 1)), 0);
  return Math.max(Math.floor((limit * elapsed * own) / all / others), 1);
}

function addTask(loop: Loop, task: Task): void {
  loop.tasks.push(task);
  loop.engine.onEvent?.({ kind: 'begun', task });
}

/** `slots`: a service is there, which tries again what an outage ended. */
export async function endTask(loop: Loop, task: Task, serves: { readonly slots: boolean }): Promise<void> {
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
  await countAgain(kysely, task);
  const state = task.failure ? 'failed' : 'done';
  const { kind: failure, message: reason = task.absent ? NOT_OFFERED : undefined, next } = task.failure ?? {};
  await endRun(kysely, task.runId, { state, reason, next, failure });
  if (task.orderId !== null) {
    const { absent, different, shown, unreadable } = task.findings;
    // A row that moved is missed in one slice and found in another.
    const extra = [...task.findings.extra].filter(key => !different.has(key) && !shown.has(key));
    const unproven = partition(task.resource)
      .filter(
        entry => !task.absent && wants(task, entry.slice) && (entry.provenAt === null || doubtful.includes(entry)),
      )
      .map(entry => sliceText(entry.slice));
    const report =
      task.kind === 'verify'
        ? {
            absent: [...absent],
            different: [...different],
            extra,
            unreadable: [...unreadable],
            unproven,
          }
        : undefined;
    const again = serves.slots && isKind(task.failure, 'unavailable');
    await setOrderState(kysely, task.orderId, ['waiting', 'running'], again ? 'waiting' : state, {
      reason: reason && next ? `${sentence(reason)} ${next}` : (reason ?? null),
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

/** What hints pointed to and was not read is a hint again. */
export async function leaveTargets(db: Db, { resource, targets }: Task): Promise<void> {
  if (targets.length > 0) await returnHints(db, placeOf(resource), targets);
}

/** The loop cannot go on: runs end with the reason, orders stay open so that the next process goes on from the last commit. */
export async function leaveTasks(loop: Loop, error: unknown, serves: { readonly slots: boolean }): Promise<void> {
  const { engine } = loop;
  const kept = isKind(error, 'stopped', 'quota', 'stale', 'database');
  const message = error instanceof Error ? error.message : String(error);
  const next = isKind(error, 'unauthorized', 'configuration', 'database') ? error.next : undefined;
  for (const task of loop.tasks) {
    engine.onEvent?.({ kind: 'ended', task, state: kept ? 'stopped' : 'failed' });
    try {
      await endRun(engine.database.kysely, task.runId, {
        state: isKind(error, 'stopped', 'quota', 'stale') ? 'stopped' : 'failed',
        reason: message,
        next,
        failure: error instanceof SluiceError ? error.kind : undefined,
      });
      await leaveTargets(engine.database.kysely, task);
      if (task.orderId === null) continue;
      if (kept) await setOrderState(engine.database.kysely, task.orderId, ['running'], 'waiting');
      else {
        // A key and an address can be put right, and a service is there to go on.
        const again = serves.slots && isKind(error, 'unauthorized', 'configuration');
        await setOrderState(
          engine.database.kysely,
          task.orderId,
          ['waiting', 'running'],
          again ? 'waiting' : 'failed',
          { reason: message },
        );
      }
    } catch (cause) {
      // The database may be what failed; the next holder of the lock ends these runs.
      engine.log.debug({ reason: String(cause) }, 'could not record the end of a run');
    }
  }
}
