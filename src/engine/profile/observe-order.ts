import { stampMs } from '../../clock.ts';
import { stampText } from '../../source/answers/values.ts';
import { type Job, sortableFields } from '../job.ts';
import { isId } from '../slices/id-ranges.ts';
import type { ListOrder, Observation } from './observation.ts';
import type { ObservedPage } from './observed-page.ts';
import type { SourceProfile } from './source-profile.ts';

/**
 * The order that these ids are in; a single one fits whatever is known. The same id twice in a page is a fault, not an order.
 * Once one page has contradicted an order, no other restores it, and a list that was seen in both orders is in neither.
 */
export function orderOfIds(ids: readonly bigint[], known: ListOrder | null): ListOrder {
  const steps = ids
    .slice(1)
    .map((id, index) => id - (ids[index] as bigint))
    .filter(step => step !== 0n);
  if (steps.length === 0) return known ?? 'id-desc';
  const shown = steps.every(step => step < 0n) ? 'id-desc' : steps.every(step => step > 0n) ? 'id-asc' : 'none';
  return known === null || known === shown ? shown : 'none';
}

/** The order of a page's rows, by id or by their last change; null for pages of fewer than three rows. */
export function orderOfRows(
  profile: SourceProfile,
  { rows, unordered }: ObservedPage,
  keyField: string,
): ListOrder | null {
  const records = rows as readonly Record<string, unknown>[];
  if (records.length < 3) return null;
  if (unordered) return 'none';
  const ids = records.map(record => String(record?.[keyField] ?? ''));
  if (ids.every(isId)) {
    const order = orderOfIds(ids.map(BigInt), profile.order);
    if (order !== 'none') return order;
  }
  const stamps = records.map(record => momentOf(record?.updated_at));
  const isFalling = stamps.every((stamp, index) => index === 0 || stamp <= (stamps[index - 1] as number));
  return isFalling ? 'updated-desc' : 'none';
}

/** NaN for what is no time stamp. */
function momentOf(value: unknown): number {
  try {
    const stamp = stampText(value ?? null);
    return stamp === null ? Number.NaN : stampMs(stamp);
  } catch {
    return Number.NaN;
  }
}

/** The order that a page of the unfiltered list shows. */
export function observeOrder(profile: SourceProfile, page: ObservedPage, keyField: string): Observation[] {
  const order = orderOfRows(profile, page, keyField);
  if (order === null || order === profile.order) return [];
  const evidence = `${page.rows.length} rows on page ${page.page} of the unfiltered list`;
  return [{ trait: 'order', value: order, evidence }];
}

/** The fields by which a list may be ordered in place of its key: those of the job, those beside them that rows carry, and masked ones. */
export const sortKeys = ({ drift }: Pick<SourceProfile, 'drift'>, job: Job): string[] => [
  ...new Set([
    ...sortableFields(job),
    // Of child rows, or with a comma, which the trait cannot hold.
    ...[...(drift?.unknown.keys() ?? []), ...Object.keys(job.masks)].filter(
      field => !field.includes('.') && !field.includes(','),
    ),
  ]),
];

/** Of the fields by which the list may be ordered, those whose stored values can tell: a hash is in no order. */
export const openSortKeys = (profile: Pick<SourceProfile, 'drift' | 'notOrderedBy'>, job: Job): string[] =>
  sortKeys(profile, job).filter(field => !profile.notOrderedBy.has(field) && !(field in job.masks));

/**
 * Fields by which the list is not ordered: a page in the order of ids shows their values rise and fall. In one that is ordered by another field,
 * such as a date, and looks ordered by id until a row is moved, that field's values only rise or only fall.
 */
export function observeOtherOrders(
  { notOrderedBy }: SourceProfile,
  fields: readonly string[],
  rows: readonly { readonly key: string; readonly values: Readonly<Record<string, string | null>> }[],
): Observation[] {
  const ids = rows.map(({ key }) => key);
  if (!ids.every(isId) || orderOfIds(ids.map(BigInt), null) === 'none') return [];
  const valuesOf = (field: string) => rows.flatMap(({ values }) => values[field] ?? []);
  const found = fields.filter(field => !notOrderedBy.has(field) && isUnordered(valuesOf(field)));
  if (found.length === 0) return [];
  const evidence = `ids ${ids[0]} to ${ids.at(-1)} came in order, and their values of ${found.join(', ')} did not`;
  return [{ trait: 'not ordered by', value: [...notOrderedBy, ...found].sort().join(), evidence }];
}

const byNumber = (a: string, b: string): number => Number(a) - Number(b);
const byCode = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
/** INV-9 before INV-10. */
const byNature = new Intl.Collator('en', { numeric: true, sensitivity: 'base' }).compare;

/** In no order that a source may know. It may put nulls first or last. */
function isUnordered(values: readonly string[]): boolean {
  const orders = values.some(value => Number.isNaN(Number(value))) ? [byCode, byNature] : [byNumber];
  return orders.every(compare => {
    const steps = values.slice(1).map((value, index) => compare(value, values[index] as string));
    return steps.some(step => step > 0) && steps.some(step => step < 0);
  });
}

const FEW_ROWS = 5;

/**
 * Whether the one answer of a list that ignores pages is all of it: it has as many rows as its windows. `inWindows`: rows that they showed;
 * null while one was never read.
 */
export function observeOneAnswer(
  profile: SourceProfile,
  page: ObservedPage,
  { looksCut, inWindows }: { looksCut: boolean; inWindows: number | null },
): Observation[] {
  if (profile.paging !== 'ignored') return [];
  const rows = page.rows.length;
  // Some rows may have been deleted since the windows were read.
  const isCut = looksCut || (inWindows !== null && rows < 0.9 * inWindows - FEW_ROWS);
  if (!isCut && (inWindows === null || rows < inWindows)) return [];
  const value = isCut ? 'cut' : 'complete';
  if (profile.oneAnswer === value) return [];
  const evidence = `the unfiltered list showed ${rows} rows, its windows ${inWindows ?? 'more or less'}`;
  return [{ trait: 'one answer', value, evidence }];
}
