import { z } from 'zod';

/** The query parameters of the lists. A row that contradicts a filter is left out, because some sources ignore filters. */

const text = z.string('must be text').min(1, 'must not be empty');
const id = z
  .union([z.number(), z.string()], 'must be an id such as 17')
  .transform(String)
  .refine(value => /^\d{1,19}$/.test(value), 'must be an id such as 17')
  // Normalised like the ids of rows; with `0017` every row would contradict the filter.
  .transform(value => value.replace(/^0+(?=\d)/, ''));
const date = z.iso.date('must be a date such as 2026-01-15');
const count = z.int('must be a whole number').positive('must be greater than 0');

export const searchFilters = z.strictObject({
  /** A search term. The document does not show which fields it is matched against. */
  search: text.optional(),
});

export const invoiceFilters = z.strictObject({
  status: text.optional(),
  customer_id: id.optional(),
  date_from: date.optional(),
  /** The document does not show whether this day itself is included; most sources include it. */
  date_to: date.optional(),
});

export const transactionFilters = z.strictObject({
  type: text.optional(),
  account_id: id.optional(),
  date_from: date.optional(),
  /** The document does not show whether this day itself is included; most sources include it. */
  date_to: date.optional(),
});

export const ticketFilters = z.strictObject({ status: text.optional(), department_id: id.optional() });

export const noFilters = z.strictObject({});

export const paging = z.strictObject({
  /** From 1. */
  page: count.optional(),
  /** Rows to request. The source may return fewer: most stop at 100. Default: the source's own, 20 for customers. */
  limit: count.optional(),
});

export const iteration = z.strictObject({
  /** Rows to request at a time. Default: 1000, or fewer if the source refuses that. */
  limit: count.optional(),
  /** Fails if the list has not ended after this many pages. Default 10,000. */
  maxPages: count.optional(),
});

export const period = z.strictObject({
  year: z.int('must be a year such as 2026').min(1, 'must be a year such as 2026').max(9999).optional(),
  month: z.int('must be 1 to 12').min(1, 'must be 1 to 12').max(12, 'must be 1 to 12').optional(),
});

/** An id in a path. */
export const pathId = id;

/** True when a row has a value that contradicts a filter. An absent field contradicts nothing. */
export function contradicts(row: object, query: Readonly<Record<string, string>>): boolean {
  return Object.entries(query).some(([name, value]) => {
    if (name === 'search') return false;
    const shown = (row as Record<string, unknown>)[name.startsWith('date_') ? 'date' : name];
    if (typeof shown !== 'string') return false;
    if (name === 'date_from') return shown < value;
    if (name === 'date_to') return shown > value;
    return shown.toLowerCase() !== value.toLowerCase();
  });
}
