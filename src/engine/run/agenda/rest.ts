import { wasAnswered } from '../../coverage/list.ts';
import type { Resource } from '../../resource.ts';
import type { Task } from '../../task/task.ts';
import type { Loop } from '../engine.ts';

/** Nothing is answered until somebody corrects the settings. */
const LASTING: ReadonlySet<string> = new Set(['unauthorized', 'configuration']);

/**
 * Whether the list as a whole does not answer: it failed, and none of its readings was answered since `since` (epoch ms). Beyond the deletion
 * limit only deletions stop.
 */
export const rests = (list: Resource, failure: string | null | undefined, since: number): boolean =>
  Boolean(failure) && failure !== 'fuse' && (LASTING.has(failure as string) || !wasAnswered(list, since));

/** Takes a list that does not answer off the agenda until its next tick, and all lists of a source that does not. */
export function rest({ engine, agenda }: Loop, { failure, resource }: Task, since: number): void {
  if (!agenda || !rests(resource, failure?.kind, since)) return;
  const isDown = failure?.kind === 'unavailable' && !engine.resources.some(list => wasAnswered(list, since));
  if (isDown) agenda.tasks.clear();
  else agenda.tasks.delete(resource);
}
