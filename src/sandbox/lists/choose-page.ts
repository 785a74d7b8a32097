import type { Variants } from '../variants/variants.ts';

export interface Meta {
  current_page: number;
  total_pages: number;
  total_records: number;
}

/** Which part of a list a request is answered with, or why it is refused. */
export type Page =
  | { from: number; to: number; meta: Meta | undefined }
  | { refused: 400; errors: Record<string, string> }
  | { refused: 404 };

const DEFAULT_LIMIT = 20;

export function choosePage(query: URLSearchParams, total: number, style: Variants['paging'], variants: Variants): Page {
  if (style === 'whole') return { from: 0, to: total, meta: undefined };
  if (style === 'capped') return { from: 0, to: Math.min(total, Number(variants.cap)), meta: undefined };

  const limit = chooseLimit(wholeNumber(query.get('limit'), DEFAULT_LIMIT), variants['limit-max']);
  if (typeof limit !== 'number') return { refused: 400, errors: limit };
  if (style === 'ignored') return { from: 0, to: Math.min(total, limit), meta: undefined };

  const pages = Math.max(1, Math.ceil(total / limit));
  let page = wholeNumber(query.get('page'), 1);
  if (page > pages && variants['past-end'] === '404') return { refused: 404 };
  if (page > pages && variants['past-end'] === 'last-page') page = pages;
  const from = Math.min(total, (page - 1) * limit);
  const meta = { current_page: page, total_pages: pages, total_records: total };
  return { from, to: Math.min(total, from + limit), meta: style === 'meta' ? meta : undefined };
}

function chooseLimit(asked: number, style: Variants['limit-max']): number | Record<string, string> {
  if (style === 'ignored') return DEFAULT_LIMIT;
  if (style === 'honoured') return asked;
  const [most, rejects] = style.split('-') as [string, string | undefined];
  if (rejects === undefined) return Math.min(asked, Number(most));
  return asked <= Number(most) ? asked : { limit: `The limit must not be greater than ${most}` };
}

/** Nonsense counts as not given, as lenient services do. */
function wholeNumber(text: string | null, otherwise: number): number {
  const value = Number(text ?? '');
  return Number.isSafeInteger(value) && value >= 1 ? value : otherwise;
}
