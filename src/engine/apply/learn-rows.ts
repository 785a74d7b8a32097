import type { Db } from '../../warehouse/database/database.ts';
import { countElsewhere, keepWindows } from '../../warehouse/rows/row-windows.ts';
import { countUnchanged } from '../../warehouse/rows/stored-rows.ts';
import type { Step } from '../read/step.ts';
import { isIdOrdered, orderOf, partition, placeOf } from '../resource.ts';
import { isBeyondWindows, wholeTime, widened } from '../slices/date-windows.ts';
import { overlap, sliceText } from '../slices/slice.ts';
import { type Draft, drafted, noteTrait } from './draft.ts';

/** Which windows returned the rows. Windows that do not meet and return the same rows are no windows. */
export async function noteWindows(tx: Db, draft: Draft, steps: readonly Step[]): Promise<void> {
  const { resource } = draft;
  for (const { task, slice, rows } of steps) {
    const seenAt = rows[0]?.readAt;
    if (seenAt === undefined) continue;
    const keys = rows.map(row => row.key);
    const asked = slice.by === 'date' ? widened(slice) : wholeTime;
    const moved = await countElsewhere(tx, placeOf(resource), keys, asked);
    if (moved > Math.max(3, rows.length / 2)) {
      const evidence = `${moved} of the ${rows.length} rows of "${sliceText(slice)}" were returned for other days before`;
      await noteTrait(tx, draft, task, { trait: 'date filter', value: 'ignored', evidence });
    }
    await keepWindows(tx, placeOf(resource), keys, asked, seenAt);
  }
}

/** A row without a date lies in no window, nor does one with a date that no window asks for. */
export function learnUndated({ resource, rows }: Step): NonNullable<Step['learnt']> {
  const { dates, traits } = resource;
  if (!dates || traits.get('undated') === 'yes') return [];
  const undated = rows.filter(
    ({ values: { [dates.field]: day } }) => day === null || (day && isBeyondWindows(day)),
  ).length;
  const evidence = `${undated} of ${rows.length} rows came without a ${dates.field} that can be asked for`;
  return undated > 0 ? [{ trait: 'undated', value: 'yes', evidence }] : [];
}

/** Rows behind an edited one, in the order of changes, that would all have to be edited after it. */
const ENOUGH_BEHIND = 5;

/**
 * Whether an edited row keeps its place by id. In a list ordered by its last changes, which looks ordered by id until there are
 * any, rows that did not change never come behind it.
 */
export async function learnEdits(
  tx: Db,
  draft: Draft,
  { resource, slice, rows }: Step,
  changed: ReadonlySet<string>,
  edited: readonly string[],
) {
  if (edited.length === 0 || resource.traits.has('edits') || !isIdOrdered(resource)) return null;
  const parts = partition(drafted(draft)).filter(entry => entry.slice.by === slice.by && overlap(entry.slice, slice));
  const provenBy = Math.min(...parts.map(entry => entry.provenAt ?? Number.NEGATIVE_INFINITY));
  if (!Number.isFinite(provenBy)) return null;
  const keys = rows.map(row => row.key);
  // In the order in which a list of last changes would end with the newest.
  if (orderOf(resource) === 'id-desc') keys.reverse();
  if (keys.some((key, index) => index > 0 && !(Number(keys[index - 1]) < Number(key)))) return null;
  for (const key of edited) {
    const behind = keys.slice(keys.indexOf(key) + 1).filter(each => !changed.has(each));
    // Brought by another reading since, they may have been edited after it all the same.
    if (behind.length < ENOUGH_BEHIND || (await countUnchanged(tx, resource.table, behind, provenBy)) < ENOUGH_BEHIND)
      continue;
    const evidence = `row ${key} was edited, and kept its place in "${sliceText(slice)}"`;
    return { trait: 'edits', value: 'in place', evidence };
  }
  return null;
}
