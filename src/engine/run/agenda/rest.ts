import type { Task } from '../../task/task.ts';
import type { Agenda } from './agenda.ts';

/** A list that failed is left to its next tick. Beyond the deletion limit only deletions stop. */
export const rests = (failure: string | null | undefined): boolean => Boolean(failure) && failure !== 'fuse';

/** Takes a list that failed off the agenda until its next tick, and all lists of a source that does not answer. */
export function rest({ tasks }: Agenda, { failure, resource }: Task): void {
  if (failure?.kind === 'unavailable') tasks.clear();
  else if (rests(failure?.kind)) tasks.delete(resource);
}
