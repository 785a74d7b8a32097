import type { Meta } from '../envelopes/responses.ts';
import type { Variants } from '../variants/variants.ts';

/** The part of a list that a request receives, or why it receives none. */
export type Page =
  | { kind: 'rows'; from: number; to: number; meta: Meta | undefined }
  | { kind: 'invalid'; errors: Record<string, string> }
  | { kind: 'not found' };

const DEFAULT_LIMIT = 20;

/** `total` is the number of rows that match the filter. */
export function choosePage(
  query: URLSearchParams,
  total: number,
  paging: Variants['paging'],
  variants: Variants,
): Page {
  if (paging === 'whole') return firstRows(total, total);
  if (paging === 'capped') return firstRows(total, Number(variants.cap));

  const limit = chooseLimit(positiveInteger(query.get('limit'), DEFAULT_LIMIT), variants['limit-max']);
  if (typeof limit !== 'number') return { kind: 'invalid', errors: limit };
  if (paging === 'ignored') return firstRows(total, limit);

  const pages = Math.max(1, Math.ceil(total / limit));
  let page = positiveInteger(query.get('page'), 1);
  if (page > pages && variants['past-end'] === '404') return { kind: 'not found' };
  if (page > pages && variants['past-end'] === 'last-page') page = pages;
  const from = Math.min(total, (page - 1) * limit);
  const meta = { current_page: page, total_pages: pages, total_records: total };
  return { kind: 'rows', from, to: Math.min(total, from + limit), meta: paging === 'meta' ? meta : undefined };
}

function firstRows(total: number, count: number): Page {
  return { kind: 'rows', from: 0, to: Math.min(total, count), meta: undefined };
}

/** The effective limit, or the error message. */
function chooseLimit(requested: number, style: Variants['limit-max']): number | Record<string, string> {
  if (style === 'ignored') return DEFAULT_LIMIT;
  if (style === 'honoured') return requested;
  const [maximum, rejects] = style.split('-') as [string, string | undefined];
  if (rejects === undefined) return Math.min(requested, Number(maximum));
  return requested <= Number(maximum) ? requested : { limit: `The limit must not be greater than ${maximum}` };
}

/** Invalid numbers count as absent, as in lenient services. */
function positiveInteger(text: string | null, fallback: number): number {
  const value = Number(text ?? '');
  return Number.isSafeInteger(value) && value >= 1 ? value : fallback;
}
