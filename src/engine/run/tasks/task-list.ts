import type { Task } from '../../task/task.ts';
import type { Loop } from '../engine.ts';

export function addTask(loop: Loop, task: Task): void {
  loop.tasks.push(task);
  noteAccepted(loop, task);
  loop.engine.onEvent?.({ kind: 'begun', task });
}

export function removeTask(loop: Loop, task: Task): void {
  loop.tasks = loop.tasks.filter(each => each !== task);
  noteAccepted(loop, task);
}

/** While an order accepts losses, no other reading of the list holds them. */
function noteAccepted({ tasks }: Loop, { resource }: Task): void {
  resource.acceptedLosses = new Set(
    tasks.filter(task => task.resource === resource).flatMap(({ acceptLosses }) => acceptLosses),
  );
}
