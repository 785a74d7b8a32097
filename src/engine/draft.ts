import type { Log } from '../log.ts';
import type { Entry } from '../warehouse/coverage.ts';
import type { ReadingState } from '../warehouse/cursors.ts';
import type { Db } from '../warehouse/database.ts';
import type { Counts } from '../warehouse/runs.ts';
import { type Trait, writeTrait } from '../warehouse/traits.ts';
import type { Resource } from './resource.ts';
import { lookAgain, type Task } from './task.ts';

/** What one transaction decided, to be kept in memory once it has committed. */
export interface Draft {
  readonly resource: Resource;
  readonly log: Log;
  readonly entries: Map<string, Entry>;
  readings: Record<string, ReadingState>;
  readonly counts: Map<Task, Counts>;
  readonly after: (() => void)[];
}

/** Remembers what was learnt of the list, unless it is known already. */
export async function noteTrait(tx: Db, draft: Draft, task: Task, trait: Omit<Trait, 'resource'>): Promise<void> {
  const { resource } = draft;
  if (resource.traits.get(trait.trait) === trait.value) return;
  await writeTrait(tx, resource.source, { resource: resource.name, ...trait });
  draft.after.push(() => {
    resource.traits.set(trait.trait, trait.value);
    lookAgain(task);
    draft.log.debug({ resource: resource.name, ...trait }, 'learnt');
  });
}
