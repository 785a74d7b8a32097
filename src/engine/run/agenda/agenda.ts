import type { Pace } from '../../agenda/pace.ts';
import type { Resource } from '../../resource.ts';
import type { Task } from '../../task/task.ts';

/** What a loop asks of its own accord, and how fast. */
export interface Agenda {
  readonly by: 'even' | 'ticks';
  pace: Pace;
  /** The task of each list that has a schedule: it counts for the run of the list's last tick. */
  readonly tasks: Map<Resource, Task>;
  /** When each missing row was last asked for (epoch ms), by key. */
  readonly askedAt: Map<Resource, Map<string, number>>;
}
