import { forgetLackedBy } from '../../warehouse/rows/missing-rows.ts';
import { absentEntries } from '../coverage/list.ts';
import { placeOf, type Resource } from '../resource.ts';
import type { Slice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import type { Loop } from './engine.ts';

/**
 * Drops the coverage of slices that no longer fit the order or filters of the list, and the rows they lacked as missing: a row
 * is deleted only when two correct readings lack it, and these assumed the wrong order.
 */
export async function dropOtherPartitions({ committer }: Loop, resource: Resource): Promise<void> {
  if (resource.reading.size > 0) return;
  const by = resource.strategy.partition;
  const kinds = (['id', 'date', 'whole'] as const).filter(kind => kind !== by);
  const others: Slice[] = [...resource.entries.values()]
    .map(entry => entry.slice)
    .filter(slice => kinds.some(kind => kind === slice.by));
  if (others.length === 0) return;
  await committer.change(
    resource,
    () => ({ removed: others }),
    tx => forgetLackedBy(tx, placeOf(resource), kinds),
  );
  resource.missing = null;
}

/** Records that the source does not offer the list, so nothing of it is left to read. */
export async function leaveOut({ committer }: Loop, task: Task, now: number): Promise<void> {
  const { resource } = task;
  task.absent = true;
  if (task.reportOnly) return;
  await committer.change(resource, () => ({ put: absentEntries(resource, now) }));
}
