import type { Pace } from '../../agenda/pace.ts';
import type { Attempts } from '../../agenda/questions.ts';
import type { Resource } from '../../resource.ts';
import type { Slice } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';

/** What a loop asks of its own accord, and how fast. */
export interface Agenda {
  readonly by: 'even' | 'ticks';
  pace: Pace;
  /** The task of each list that has a schedule: it counts for the run of the list's last tick. */
  readonly tasks: Map<Resource, Task>;
  /** How often missing rows were asked for, by key. */
  readonly attempts: Map<Resource, Map<string, Attempts>>;
  /** When the windows of each list were last made as large as is worth a reading (epoch ms). */
  readonly resizedAt: Map<Resource, number>;
  /** Questions whose readings have ended, until the loop looks at what they led to. */
  readonly ended: Asked[];
}

/** A question that was asked. */
export interface Asked {
  readonly task: Task;
  readonly slice: Slice;
  /** That of its task before. */
  readonly failure: Task['failure'];
}
