import { type Day, isBeyondWindows } from '../slices/date-windows.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Observation } from './observation.ts';
import type { SourceProfile } from './source-profile.ts';
import { isIdOrdered, type Strategy } from './strategy.ts';

/** Rows behind an edited one, in the order of changes, that would all have to be edited after it. */
const ENOUGH_BEHIND = 5;

type Values = Readonly<Record<string, string | null>>;

/** A row without a date lies in no window, nor does one with a date that no window asks for. */
export function undatedRows(
  dateField: string,
  rows: readonly Values[],
  { closesWindows }: Pick<Strategy, 'closesWindows'>,
): Observation[] {
  const isUndated = (day: Day | null | undefined) => day === null || (closesWindows && day && isBeyondWindows(day));
  const undated = rows.filter(values => isUndated(values[dateField])).length;
  const evidence = `${undated} of ${rows.length} rows came without a ${dateField} that can be asked for`;
  return undated > 0 ? [{ trait: 'undated', value: 'yes', evidence }] : [];
}

/** The fields, out of `known`, that no row carried before and some row carries now: where another row omits one, it is empty. */
export const newFields = (
  { fields }: SourceProfile,
  known: readonly string[],
  isCarried: (field: string) => boolean,
): string[] => known.filter(field => !fields.has(field) && isCarried(field));

/** As the trait and the answers that are kept hold them. */
export const fieldsText = (fields: Iterable<string>): string => [...fields].sort().join();

export function fieldsCarried({ fields }: SourceProfile, more: readonly string[]): Observation[] {
  if (more.length === 0) return [];
  const value = fieldsText([...fields, ...more]);
  return [{ trait: 'fields', value, evidence: `rows came with ${more.join(', ')}` }];
}

/** Windows that do not meet and return the same rows are no windows. `elsewhere`: rows that such a window returned before. */
export function windowsIgnored(slice: Slice, rows: number, elsewhere: number): Observation | null {
  if (elsewhere <= Math.max(3, rows / 2)) return null;
  const evidence = `${elsewhere} of the ${rows} rows of "${sliceText(slice)}" were returned for other days before`;
  return { trait: 'date filter', value: 'ignored', evidence };
}

/**
 * Edited rows of a page that can show whether edits keep their place, each with the unchanged rows behind it. In a list ordered by
 * last change, which looks ordered by id until something is edited, rows that did not change never come behind an edited one.
 */
export function editsToCheck(
  profile: SourceProfile,
  page: readonly string[],
  changed: ReadonlySet<string>,
  edited: readonly string[],
): { key: string; behind: string[] }[] {
  if (edited.length === 0 || profile.editsInPlace || !isIdOrdered(profile)) return [];
  // In the order in which a list of last changes would end with the newest.
  const keys = profile.order === 'id-desc' ? [...page].reverse() : page;
  if (keys.some((key, index) => index > 0 && !(Number(keys[index - 1]) < Number(key)))) return [];
  return edited
    .map(key => ({ key, behind: keys.slice(keys.indexOf(key) + 1).filter(each => !changed.has(each)) }))
    .filter(({ behind }) => behind.length >= ENOUGH_BEHIND);
}

/** `unchanged`: rows behind the edited one that no other reading brought since they were last proven. */
export const staysInPlace = (unchanged: number): boolean => unchanged >= ENOUGH_BEHIND;
