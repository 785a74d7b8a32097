import { dayOf, NO_DAY } from '../data/calendar.ts';
import type { Data } from '../data/data.ts';
import { documentedInvoiceStates } from '../data/generate-invoices.ts';
import { ticketStates } from '../data/generate-small-lists.ts';
import { documentedTypes } from '../data/generate-transactions.ts';
import type { Resource } from '../data/rows.ts';
import type { Filter, Table } from '../data/table.ts';
import { fail, invalid, succeedWithRows } from '../envelopes/responses.ts';
import type { ListFault } from '../faults/fault-kinds.ts';
import type { Variants } from '../variants/variants.ts';
import { choosePage } from './choose-page.ts';
import { createListing, type Listing } from './ordering.ts';
import { renderRow } from './render-row.ts';
import { spoilList } from './spoil-page.ts';

interface ListShape {
  state?: { name: string; documented: readonly string[] };
  owner?: string;
  dated?: true;
  searched?: true;
  /** Named in the document, and no list of it shown. */
  madeUp?: true;
}

/** The query parameters each list understands; leads have no list. */
export const listShapes: { readonly [R in Exclude<Resource, 'leads'>]: ListShape } = {
  customers: { searched: true },
  invoices: { state: { name: 'status', documented: documentedInvoiceStates }, owner: 'customer_id', dated: true },
  transactions: { state: { name: 'type', documented: documentedTypes }, owner: 'account_id', dated: true },
  products: {},
  quotes: {},
  tickets: { state: { name: 'status', documented: ticketStates }, owner: 'department_id' },
  users: {},
  orders: { madeUp: true },
  suppliers: { madeUp: true },
  purchases: { madeUp: true },
};

export type Listed = keyof typeof listShapes;

const PREFIX = '/api/v2/';

export function isListPath(path: string): boolean {
  return path.startsWith(PREFIX) && Object.hasOwn(listShapes, path.slice(PREFIX.length));
}

/** Answers `GET` on a list. `salt` differs from request to request, for orders that do too. */
export type AnswerList = (
  resource: Listed,
  query: URLSearchParams,
  variants: Variants,
  request: { salt: number; fault: ListFault | undefined },
) => Response;

export function createLists(data: Data, seed: number): AnswerList {
  const listings = new Map<Listed, Listing>();
  for (const resource of Object.keys(listShapes) as Listed[]) {
    listings.set(resource, createListing(data[resource] as Table<{ id: number }>, seed));
  }
  return (resource, query, variants, { salt, fault }) => {
    const errors = wrongDates(listShapes[resource], query);
    if (errors !== undefined) return invalid(Number(variants.validation), errors);

    const filter = readFilter(listShapes[resource], query, variants);
    const found = (listings.get(resource) as Listing).positions(filter, variants.order, variants.visible, salt);
    const style = resource === 'customers' ? 'meta' : variants.paging;
    const page = choosePage(query, found.length, style, variants);
    if ('refused' in page)
      return page.refused === 404 ? fail(404, 'Page not found') : invalid(Number(variants.validation), page.errors);

    const table = data[resource];
    const sent = spoilList(fault, page.to - page.from, page.meta, salt);
    const position = (index: number) => found[page.from + sent.place(index)] as number;
    const row = (index: number) => renderRow(resource, table.at(position(index)), variants, true);
    return succeedWithRows(sent.count, row, sent.meta);
  };
}

function readFilter(shape: ListShape, query: URLSearchParams, variants: Variants): Filter {
  const filter: Filter = {};
  const given = (name: string | undefined) => (name === undefined ? undefined : query.get(name) || undefined);
  if (variants.filters === 'honoured') {
    const state = given(shape.state?.name);
    const owner = given(shape.owner);
    if (state !== undefined) filter.state = state;
    if (owner !== undefined) filter.owner = /^\d+$/.test(owner) ? Number(owner) : Number.NaN;
  }
  const search = shape.searched && given('search');
  if (search) filter.search = search.toLowerCase();

  const from = shape.dated && given('date_from');
  const to = shape.dated && given('date_to');
  const rule = variants['date-filter'];
  if (rule === 'ignored' || (rule === 'pair-only' && !(from && to))) return filter;
  if (from) filter.fromDay = dayOf(from);
  if (to) filter.toDay = dayOf(to) - (variants['date-to'] === 'exclusive' ? 1 : 0);
  return filter;
}

function wrongDates(shape: ListShape, query: URLSearchParams): Record<string, string> | undefined {
  if (!shape.dated) return undefined;
  const wrong = ['date_from', 'date_to'].filter(name => query.get(name) && dayOf(query.get(name)) === NO_DAY);
  return wrong.length === 0
    ? undefined
    : Object.fromEntries(wrong.map(name => [name, 'Invalid date, expected YYYY-MM-DD']));
}
