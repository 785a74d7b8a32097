import type { Resource } from '../../resource.ts';
import type { Task } from '../../task/task.ts';
import type { Loop } from '../engine.ts';
import { slotShare } from './slot-share.ts';

export function addTask(loop: Loop, task: Task): void {
  loop.tasks.push(task);
  loop.engine.onEvent?.({ kind: 'begun', task });
}

/** Requests that a task may spend on rereading; see `slotShare`. */
export const shareOf = (
  { engine, tasks }: Loop,
  resource: Resource,
  time: { readonly previousAt: number | null; readonly now: number },
): number =>
  slotShare(
    engine,
    resource,
    time,
    tasks.some(task => task.lane !== 'live'),
  );
