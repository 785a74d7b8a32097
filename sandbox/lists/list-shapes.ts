import { documentedInvoiceStates } from '../data/generate-invoices.ts';
import { ticketStates } from '../data/generate-small-lists.ts';
import { documentedTypes } from '../data/generate-transactions.ts';
import type { Resource } from '../data/rows.ts';

interface ListShape {
  /** The query parameter that filters by state, and its documented values. */
  state?: { name: string; documented: readonly string[] };
  /** The query parameter that filters by owner. */
  owner?: string;
  /** Accepts date_from and date_to. */
  dated?: true;
  /** Accepts search. */
  searched?: true;
  /** The document names the path, but shows no list; rows are invented. */
  invented?: true;
}

/** The query parameters of each list. Leads can be created but not listed. */
export const listShapes: { readonly [R in Exclude<Resource, 'leads'>]: ListShape } = {
  customers: { searched: true },
  invoices: { state: { name: 'status', documented: documentedInvoiceStates }, owner: 'customer_id', dated: true },
  transactions: { state: { name: 'type', documented: documentedTypes }, owner: 'account_id', dated: true },
  products: {},
  quotes: {},
  tickets: { state: { name: 'status', documented: ticketStates }, owner: 'department_id' },
  users: {},
  orders: { invented: true },
  suppliers: { invented: true },
  purchases: { invented: true },
};

export type ListedResource = keyof typeof listShapes;

export const listedResources = Object.keys(listShapes) as ListedResource[];

const PREFIX = '/api/v2/';

export function isListPath(path: string): boolean {
  return path.startsWith(PREFIX) && Object.hasOwn(listShapes, path.slice(PREFIX.length));
}
