import type { Forecast } from '../../../budget/forecast.ts';
import type { Pace } from '../../agenda/pace.ts';
import type { Attempts } from '../../agenda/questions.ts';
import type { Resource } from '../../resource.ts';
import type { Slice } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';

/** What a loop asks of its own accord, and how fast. */
export interface Agenda {
  /** The task of each list that has a schedule: it counts for the run of the list's last tick. */
  readonly tasks: Map<Resource, Task>;
  /** Tasks with a question that is being read, those of an earlier tick included, and the requests that it is expected to take. */
  readonly asking: Map<Asked, number>;
  /** Questions whose readings have ended, until the loop looks at what they led to. */
  readonly ended: Asked[];
  /** Questions in a row that made a list fail. */
  readonly failing: Map<Resource, number>;
  /** Requests that had been granted when the pace was last counted. */
  granted: number;
  limit: LimitSeen;
  readonly memory: AgendaMemory;
}

/** A question that was asked. */
export interface Asked {
  readonly task: Task;
  readonly slice: Slice;
}

/** What outlives a loop, by the names of resources. */
export interface AgendaMemory {
  /** Null before the first loop. */
  pace: Pace | null;
  /** How often missing rows were asked for, by key. */
  readonly attempts: Map<string, Map<string, Attempts>>;
  /** When the windows of each list were last cut anew (epoch ms). */
  readonly cutAt: Map<string, number>;
}

export const newMemory = (): AgendaMemory => ({ pace: null, attempts: new Map(), cutAt: new Map() });

/** What was left of the limit. */
export interface LimitSeen {
  readonly forecast: Forecast;
  /** When (epoch ms). */
  readonly at: number;
  /** Requests that had been granted to live readings by then. */
  readonly granted: number;
}
