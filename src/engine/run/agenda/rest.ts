import type { Task } from '../../task/task.ts';
import type { Agenda } from './agenda.ts';

/** A list that failed is left to its next tick, and so are all lists of a source that does not answer. */
export function rest({ tasks }: Agenda, { failure, resource }: Task): void {
  if (failure?.kind === 'unavailable') tasks.clear();
  else if (failure && failure.kind !== 'fuse') tasks.delete(resource);
}
