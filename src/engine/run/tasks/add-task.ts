import type { Task } from '../../task/task.ts';
import type { Loop } from '../engine.ts';

export function addTask(loop: Loop, task: Task): void {
  loop.tasks.push(task);
  loop.engine.onEvent?.({ kind: 'begun', task });
}
