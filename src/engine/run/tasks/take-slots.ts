import { endRun, startRun } from '../../../warehouse/ledgers/runs.ts';
import { lastSlotRuns, openSlots, takeSlot } from '../../../warehouse/ledgers/slots.ts';
import { createTask } from '../../task/task.ts';
import { agendaTask } from '../agenda.ts';
import type { Loop } from '../engine.ts';
import { addTask } from './add-task.ts';

type Slot = Awaited<ReturnType<typeof openSlots>>[number];

/** Creates tasks for open slots, one per resource at a time. */
export async function takeSlots(loop: Loop, now: number): Promise<void> {
  const { database, source } = loop.engine;
  for (const slot of await openSlots(database.kysely, source)) {
    // A newer tick takes over, so that the newest rows come first again. The older task ends with its current readings.
    // If it has not sent a request yet, the newer tick waits.
    const older = loop.tasks.find(task => task.kind === 'slot' && task.resource.name === slot.resource);
    if (older && older.counts.requests > 0) older.closed ??= 'overtaken';
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
  addTask(
    loop,
    createTask({
      kind: 'slot',
      resource,
      runId,
      orderId: null,
      // A tick ahead of now predates a backward clock step.
      since: Math.min(slot.at, now),
      ...(slot.previousAt === null ? {} : { valuesSince: slot.previousAt }),
      lane: 'live',
      wasHeldBack: last?.failure === 'fuse',
    }),
  );
}
