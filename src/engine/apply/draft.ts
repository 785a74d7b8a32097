import type { Log } from '../../log.ts';
import type { Db } from '../../warehouse/database/database.ts';
import { type Entry, writeCoverage } from '../../warehouse/ledgers/coverage.ts';
import type { ReadingState } from '../../warehouse/ledgers/cursors.ts';
import type { Counts } from '../../warehouse/ledgers/runs.ts';
import { type Trait, writeTrait } from '../../warehouse/ledgers/traits.ts';
import { placeOf, type Resource } from '../resource.ts';
import { lookAgain, type Task } from '../run/task.ts';
import { type Slice, sliceText } from '../slices/slice.ts';

/** What one transaction decided, to be kept in memory once it has committed. */
export interface Draft {
  readonly resource: Resource;
  readonly log: Log;
  readonly entries: Map<string, Entry>;
  readings: Record<string, ReadingState>;
  readonly counts: Map<Task, Counts>;
  readonly after: (() => void)[];
}

/** The resource as the transaction has left it so far. */
export const drafted = ({ resource, entries }: Draft): Resource => ({ ...resource, entries });

/** Slices that are no more leave the coverage, others come or are as given from now on. */
export async function replaceEntries(
  tx: Db,
  draft: Draft,
  removed: readonly Slice[],
  put: readonly Entry[],
): Promise<void> {
  if (removed.length === 0 && put.length === 0) return;
  for (const slice of removed) draft.entries.delete(sliceText(slice));
  for (const entry of put) draft.entries.set(sliceText(entry.slice), entry);
  await writeCoverage(tx, placeOf(draft.resource), removed, put);
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
