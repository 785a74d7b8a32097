import { endRun, startRun } from '../../../warehouse/ledgers/runs.ts';
import { lastSlotRuns, openSlots, type Slot, takeSlot } from '../../../warehouse/ledgers/slots.ts';
import { createTask, update } from '../../task/task.ts';
import { agendaTask } from '../agenda.ts';
import type { Loop } from '../engine.ts';
import { addTask } from './task-list.ts';

/** Of what the limit allows between two ticks of a list, the second may spend this on values that its job watches. */
const VALUES_SHARE = 1 / 8;

/** Creates tasks for open slots, one per resource at a time. */
export async function takeSlots(loop: Loop, now: number): Promise<void> {
  const { database, source } = loop.engine;
  for (const slot of await openSlots(database.kysely, source)) {
    // A newer tick takes over, so that the newest rows come first again. The older task ends with its current readings.
    // If it has not sent a request yet, the newer tick waits.
    const older = loop.tasks.find(task => task.kind === 'slot' && task.resource.name === slot.resource);
    if (older && older.counts.requests > 0) update(older, { kind: 'closed', why: 'overtaken' });
    else if (!older) await take(loop, slot, now);
  }
}

async function take(loop: Loop, slot: Slot, now: number): Promise<void> {
  const { engine, agenda } = loop;
  const { source } = engine;
  const { kysely } = engine.database;
  const resource = engine.resources.find(each => each.name === slot.resource);
  const started = { source, resource: slot.resource, kind: 'slot', orderId: null, slotAt: slot.slotAt };
  const last = (await lastSlotRuns(kysely, source)).get(slot.resource);
  const runId = await startRun(kysely, started);
  await takeSlot(kysely, source, slot, runId);
  if (!resource) {
    // Left open, the slot would be due forever.
    await endRun(kysely, runId, { state: 'failed', reason: `There is no job for "${slot.resource}".` });
    return;
  }
  agenda?.tasks.set(resource, agendaTask(resource, runId, now));
  // A tick ahead of now predates a backward clock step.
  const since = Math.min(slot.at, now);
  const valuesSince = slot.previousAt ?? since;
  const given = { kind: 'slot', resource, runId, orderId: null, since, valuesSince, lane: 'live' } as const;
  const allowance = ((engine.limit * Math.min(since - valuesSince, engine.windowMs)) / engine.windowMs) * VALUES_SHARE;
  addTask(loop, createTask({ ...given, wasHeldBack: last?.failure === 'fuse' }, { allowance }));
}
