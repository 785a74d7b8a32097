import type { Entry } from '../warehouse/coverage.ts';
import type { ReadingState } from '../warehouse/cursors.ts';
import type { Counts } from '../warehouse/runs.ts';
import type { Resource } from './resource.ts';
import type { Task } from './task.ts';

/** What one transaction decided, to be kept in memory once it has committed. */
export interface Draft {
  readonly resource: Resource;
  readonly entries: Map<string, Entry>;
  readings: Record<string, ReadingState>;
  readonly counts: Map<Task, Counts>;
  readonly after: (() => void)[];
}
