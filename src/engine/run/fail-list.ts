import { SluiceError } from '../../errors.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import { fail, stopsSource, type Task } from '../task/task.ts';
import type { Engine } from './engine.ts';

/** An error in a step of one list fails its task, and the other lists go on. Throws one that stops the whole source. */
export function failList({ log }: Pick<Engine, 'log'>, task: Task, error: unknown, slice?: Slice): void {
  if (stopsSource(error)) throw error;
  // Only the stack: an error of Postgres also holds the values of the row.
  if (!(error instanceof SluiceError) && task.failure === null) {
    const { stack } = error instanceof Error ? error : new Error(String(error));
    log.error({ resource: task.resource.name, ...(slice && { slice: sliceText(slice) }), stack }, 'unexpected error');
  }
  fail(task, error, slice);
}
