import { SluiceError } from '../../errors.ts';

/**
 * A set of records that the source answers in full and the warehouse can select. Bounds are inclusive; null is an open end.
 * - `id`, `date`: ranges; together they partition a list, and reading one proves it.
 * - `value`, `one`: targeted; they bring changes and prove no range.
 * - `newest`: the list's newest end: its first pages, until one brings nothing new, at most ten; proves nothing. Where a choice asks for `all`, all
 *   of the unfiltered list.
 * - `whole`: the unfiltered list.
 * - `total`: what the source says a month's rows sum up to; brings no rows.
 */
export type Slice =
  | { readonly by: 'id'; readonly from: bigint | null; readonly to: bigint | null }
  | { readonly by: 'date'; readonly from: string | null; readonly to: string | null }
  | { readonly by: 'value'; readonly field: string; readonly value: string }
  | { readonly by: 'one'; readonly key: string }
  | { readonly by: 'newest' }
  | { readonly by: 'whole' }
  | { readonly by: 'total'; readonly month: string };

export type IdSlice = Extract<Slice, { by: 'id' }>;
export type DateSlice = Extract<Slice, { by: 'date' }>;
export type TotalSlice = Extract<Slice, { by: 'total' }>;

/** The text that names a slice in tables, logs and messages: `date 2025-01-01..2025-12-31`, `id ..100`, `status=Unpaid`, `one 17`. */
export function sliceText(slice: Slice): string {
  switch (slice.by) {
    case 'id':
    case 'date':
      return `${slice.by} ${slice.from ?? ''}..${slice.to ?? ''}`;
    case 'value':
      return `${slice.field}=${slice.value}`;
    case 'one':
      return `one ${slice.key}`;
    case 'total':
      return `total ${slice.month}`;
    default:
      return slice.by;
  }
}

/** The inverse of `sliceText`. */
export function parseSlice(text: string): Slice {
  if (text === 'newest' || text === 'whole') return { by: text };
  if (text.startsWith('one ')) return { by: 'one', key: text.slice(4) };
  if (text.startsWith('total ')) return { by: 'total', month: text.slice(6) };
  const range = /^(id|date) ([^.]*)\.\.(.*)$/.exec(text);
  if (range) {
    const [, by, from = '', to = ''] = range;
    if (by === 'date') return { by, from: from || null, to: to || null };
    return { by: 'id', from: from ? BigInt(from) : null, to: to ? BigInt(to) : null };
  }
  const equals = text.indexOf('=');
  if (equals > 0) return { by: 'value', field: text.slice(0, equals), value: text.slice(equals + 1) };
  throw new SluiceError('failed', `"${text}" is not a slice.`);
}

/** Ranges and the whole list: what together covers a list, and so proves what is in it. */
export const provesRange = ({ by }: Slice): boolean => by === 'id' || by === 'date' || by === 'whole';

/** True when a row could lie in both, so that they must not be read at the same time. */
export function overlap(a: Slice, b: Slice): boolean {
  if (a.by === 'id' && b.by === 'id') return before(a.from, b.to) && before(b.from, a.to);
  if (a.by === 'date' && b.by === 'date') return before(a.from, b.to) && before(b.from, a.to);
  if (a.by === 'value' && b.by === 'value' && a.field === b.field) return a.value === b.value;
  if (a.by === 'one' && b.by === 'one') return a.key === b.key;
  if (a.by === 'total' || b.by === 'total') return a.by === b.by;
  return true;
}

function before<T extends bigint | string>(from: T | null, to: T | null): boolean {
  return from === null || to === null || from <= to;
}
