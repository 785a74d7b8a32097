import { SluiceError } from '../../errors.ts';
import { type Order, openOrders, setOrderState } from '../../warehouse/ledgers/orders.ts';
import { endRun, spentOnSlot, startRun } from '../../warehouse/ledgers/runs.ts';
import { lastSlotAt, openSlots, takeSlot } from '../../warehouse/ledgers/slots.ts';
import type { Loop } from './engine.ts';
import { takeHinted } from './hints.ts';
import { createTask, type Task } from './task.ts';

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

async function dropTask(loop: Loop, task: Task, reason: string): Promise<void> {
  task.abort.abort(new SluiceError('stopped', reason));
  loop.tasks = loop.tasks.filter(each => each !== task);
  await endRun(loop.engine.database.kysely, task.runId, { state: 'stopped', reason });
  loop.engine.onEvent?.({ kind: 'ended', task, state: 'paused' });
}
