import type { Meta } from '../envelopes/responses.ts';
import type { Variants } from '../variants/variants.ts';

/** The part of a list that a request receives, or why it receives none. */
export type Page =
  | { kind: 'rows'; from: number; to: number; meta: Meta | undefined }
  | { kind: 'invalid'; errors: Record<string, string> }
  | { kind: 'not found' };

const DEFAULT_LIMIT = 20;

/** `matching` is the number of rows that match the filter, `counted` what is counted of them, `unfiltered` that of the whole list. */
export function choosePage(
  query: URLSearchParams,
  { matching, counted: known, unfiltered }: { matching: number; counted: number; unfiltered: number },
  paging: Variants['paging'],
  variants: Variants,
): Page {
  const total = Math.min(matching, mostRows(query, paging, variants));
  if (paging === 'whole') return firstRows(total, total);
  if (paging === 'capped') return firstRows(total, Number(variants.cap));

  const requested = positiveInteger(query.get('limit'), DEFAULT_LIMIT);
  const ignoresLimit = variants['limit-max'].startsWith('ignored');
  if (query.has('limit') && !ignoresLimit && !isAccepted(requested, variants['limit-values']))
    return { kind: 'invalid', errors: { limit: `The limit ${requested} is not supported` } };
  const limit = chooseLimit(requested, variants['limit-max']);
  if (typeof limit !== 'number') return { kind: 'invalid', errors: limit };
  if (paging === 'ignored') return firstRows(total, limit);

  const last = Math.max(1, Math.ceil(total / limit));
  let page = positiveInteger(query.get('page'), 1);
  if (page > last && variants['behind-end'] === 'refused')
    return { kind: 'invalid', errors: { page: `The page must not be greater than ${last}` } };
  if (page > last && variants['behind-end'] === 'first-page') page = 1;
  if (page > last && variants['past-end'] === '404') return { kind: 'not found' };
  if (page > last && variants['past-end'] === 'last-page') page = last;
  const isHidden = variants['long-pages'] === 'empty' && requested > limit && !ignoresLimit;
  const from = isHidden ? total : Math.min(total, (page - 1) * limit);
  const counted = countRows(known === matching ? total : known, unfiltered, variants.totals);
  const pages = Math.max(1, Math.ceil(counted / limit));
  const written = (count: number) => writeCount(count, variants['count-values']);
  const meta = { current_page: page, total_pages: written(pages), total_records: written(counted) };
  return { kind: 'rows', from, to: Math.min(total, from + limit), meta: paging === 'meta' ? meta : undefined };
}

const FILTERS = ['status', 'type', 'customer_id', 'account_id', 'department_id', 'date_from', 'date_to'];

/** Rows that the question shows at most. Where pages are counted, only `counted` leaves rows out. */
function mostRows(query: URLSearchParams, paging: Variants['paging'], variants: Variants): number {
  const of = variants['most-rows-of'];
  const isFiltered = FILTERS.some(name => query.has(name));
  const applies = {
    lists: paging !== 'meta',
    filtered: paging !== 'meta' && isFiltered,
    unfiltered: paging !== 'meta' && !isFiltered,
    customer: paging !== 'meta' && query.has('customer_id'),
    counted: true,
  }[of];
  return applies && variants['most-rows'] !== 'all' ? Number(variants['most-rows']) : Number.POSITIVE_INFINITY;
}

/** Rows that a deleted flag hides from the list, but not from its count. */
const HIDDEN_ROWS = 7;

function countRows(total: number, unfiltered: number, counts: Variants['totals']): number {
  if (counts === 'unfiltered') return unfiltered;
  if (counts === 'with-deleted') return total === 0 ? 0 : total + HIDDEN_ROWS;
  return counts === 'doubled' ? 2 * total : total;
}

const WRONG_COUNTS = { huge: 9e15, overflown: 1e300, negative: -1 } as const;

function writeCount(count: number, values: Variants['count-values']): number {
  if (values === 'counts') return count;
  return values === 'fraction' ? count + 0.5 : WRONG_COUNTS[values];
}

function firstRows(total: number, count: number): Page {
  return { kind: 'rows', from: 0, to: Math.min(total, count), meta: undefined };
}

function isAccepted(limit: number, values: Variants['limit-values']): boolean {
  if (values === 'any') return true;
  return values === 'at-least-10' ? limit >= 10 : [10, 25, 50, 100].includes(limit);
}

/** The effective limit, or the error message. */
function chooseLimit(requested: number, style: string): number | Record<string, string> {
  if (style.startsWith('ignored')) return Number(style.split('-')[1] ?? DEFAULT_LIMIT);
  if (style === 'honoured') return requested;
  const [maximum, otherwise] = style.split('-') as [string, string | undefined];
  if (otherwise === undefined) return Math.min(requested, Number(maximum));
  if (otherwise === 'default') return requested <= Number(maximum) ? requested : DEFAULT_LIMIT;
  return requested <= Number(maximum) ? requested : { limit: `The limit must not be greater than ${maximum}` };
}

/** Invalid numbers count as absent, as in lenient services. */
function positiveInteger(text: string | null, fallback: number): number {
  const value = Number(text ?? '');
  return Number.isSafeInteger(value) && value >= 1 ? value : fallback;
}
