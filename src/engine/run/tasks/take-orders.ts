import { SluiceError } from '../../../errors.ts';
import type { Db } from '../../../warehouse/database/database.ts';
import { type Order, openOrders, setOrderState } from '../../../warehouse/ledgers/orders.ts';
import { endRun, startRun } from '../../../warehouse/ledgers/runs.ts';
import { emptyHeld } from '../../../warehouse/rows/held-values.ts';
import { placeOf } from '../../resource.ts';
import { parseSlice } from '../../slices/slice.ts';
import { createTask, failList, type Task, update } from '../../task/task.ts';
import type { Loop } from '../engine.ts';
import { cutList, pointedTo } from './cut-list.ts';
import { refreshTargets } from './find-targets.ts';
import { addTask, removeTask } from './task-list.ts';

/** Creates tasks for open orders, drops the tasks of paused and cancelled ones, and tells the others how many deletions are accepted by now. */
export async function takeOrders(loop: Loop, isServed: (order: Order) => boolean): Promise<void> {
  const { database, source } = loop.engine;
  const orders = await openOrders(database.kysely, source);
  await dropEnded(loop, orders);
  for (const order of orders) {
    const task = loop.tasks.find(({ orderId }) => orderId === order.id);
    // By what this process knows to be deleted: the order may have been read before its last commit.
    if (task) update(task, { kind: 'accepted', rows: order.acceptDeletes - task.deletedBefore - task.counts.deleted });
    if (order.state === 'paused' || order.rests || task || !isServed(order)) continue;
    await takeOrder(loop, order);
  }
}

async function dropEnded(loop: Loop, orders: readonly Order[]): Promise<void> {
  const open = new Map(orders.map(order => [order.id, order]));
  for (const task of [...loop.tasks]) {
    if (task.orderId === null) continue;
    const state = open.get(task.orderId)?.state;
    if (state === 'waiting' || state === 'running') continue;
    await dropTask(loop, task, state === 'paused' ? 'The order was paused.' : 'The order was cancelled.');
  }
}

async function takeOrder(loop: Loop, order: Order): Promise<void> {
  const { engine } = loop;
  const { source } = engine;
  const { kysely } = engine.database;
  const resource = engine.resources.find(each => each.name === order.resource);
  if (!resource) {
    const reason = `There is no job for "${order.resource}".`;
    await setOrderState(kysely, order.id, ['waiting', 'running'], 'failed', { reason });
    return;
  }
  const { id: orderId, kind, createdAt: since, dateFrom: from, dateTo: to, whole } = order;
  const runId = await startRun(kysely, { source, resource: resource.name, kind, orderId, slotAt: null });
  await setOrderState(kysely, orderId, ['waiting'], 'running');
  const lane = kind === 'sync' || kind === 'refresh' ? 'live' : kind;
  const deep = kind === 'verify';
  const reportOnly = deep && !order.repair;
  const full = whole || kind !== 'sync';
  const given = { kind, resource, runId, orderId, since, lane, from, to, reportOnly, deep, full } as const;
  const { acceptLosses, deleted: deletedBefore, counted } = order;
  const accepted = Math.max(order.acceptDeletes - deletedBefore, 0);
  const found = await refreshTargets(engine, resource, order.targets.map(parseSlice), since).catch(failure);
  const targets = 'error' in found ? [] : found;
  const cut = await cutList(engine, resource, since, { targets, pointedTo: pointedTo(loop, resource) });
  if (cut !== null) await loop.committer.change(resource, cut);
  const task = createTask(
    { ...given, acceptLosses, deletedBefore },
    { readsAll: whole ? true : null, accepted, counted, targets },
  );
  // First: a commit that took the loss for accepted would release what is held, and with it since when the row may have changed.
  const empty = (tx: Db) => emptyHeld(tx, resource.table, placeOf(resource), { fields: acceptLosses, runId });
  const emptied = acceptLosses.length === 0 ? {} : await loop.committer.between(empty).then(none, failure);
  addTask(loop, task);
  for (const outcome of [found, emptied]) if ('error' in outcome) failList(engine, task, outcome.error);
}

const none = () => ({});
const failure = (error: unknown) => ({ error });

async function dropTask(loop: Loop, task: Task, reason: string): Promise<void> {
  task.abort.abort(new SluiceError('stopped', reason));
  removeTask(loop, task);
  await endRun(loop.engine.database.kysely, task.runId, { state: 'stopped', reason });
  loop.engine.onEvent?.({ kind: 'ended', task, state: 'paused' });
}
