import { dueHints, takeHints } from '../../../warehouse/ledgers/hints.ts';
import { startRun } from '../../../warehouse/ledgers/runs.ts';
import { createTask, failList, type Task } from '../../task/task.ts';
import type { Loop } from '../engine.ts';
import { targetsOf } from './find-targets.ts';

/** Requests that one task for hints may spend. */
const ALLOWANCE = 10;

/** Creates tasks for due hints, one per resource. */
export async function takeHinted(loop: Loop, now: number): Promise<Task[]> {
  const { engine, tasks } = loop;
  const { database, source } = engine;
  const begun: Task[] = [];
  for (const name of await dueHints(database.kysely, source, engine)) {
    const resource = engine.resources.find(each => each.name === name);
    if (tasks.some(task => task.kind === 'hint' && task.resource === resource)) continue;
    const hints = await takeHints(database.kysely, { source, resource: name });
    if (!resource) continue;
    const found = await targetsOf(engine, resource, hints, now).catch((error: unknown) => ({ error }));
    const targets = 'error' in found ? [] : found;
    if (!('error' in found) && targets.length === 0) continue;
    const started = { source, resource: name, kind: 'hint', orderId: null, slotAt: null };
    const runId = await startRun(database.kysely, started);
    const given = { kind: 'hint', resource, runId, orderId: null, since: now, lane: 'live' } as const;
    const task = createTask(given, { allowance: ALLOWANCE, targets });
    if ('error' in found) failList(engine, task, found.error);
    begun.push(task);
  }
  return begun;
}
