/** How the values of a field are interpreted. */
export type Kind = 'id' | 'amount' | 'number' | 'date' | 'stamp' | 'text' | 'items';

interface ListShape {
  /** The documented fields; empty if the API document shows none. */
  readonly fields: Readonly<Record<string, Kind>>;
  /** The field with documented values, and these values. */
  readonly state?: { readonly field: string; readonly values: readonly string[] };
  /** Documented filters other than the state. */
  readonly filters?: readonly string[];
  /** Accepts `date_from` and `date_to`. */
  readonly dated?: true;
}

export const ITEM_FIELDS = { description: 'text', amount: 'amount', qty: 'number' } as const;

/** The lists of the API, as documented. */
export const LISTS = {
  customers: {
    fields: {
      id: 'id',
      account: 'text',
      email: 'text',
      phone: 'text',
      address: 'text',
      city: 'text',
      state: 'text',
      zip: 'text',
      country: 'text',
      created_at: 'stamp',
      updated_at: 'stamp',
    },
  },
  invoices: {
    fields: {
      id: 'id',
      invoice_number: 'text',
      customer_id: 'id',
      date: 'date',
      due_date: 'date',
      amount: 'amount',
      status: 'text',
      items: 'items',
      notes: 'text',
    },
    state: { field: 'status', values: ['Paid', 'Unpaid', 'Partially Paid'] },
    filters: ['customer_id'],
    dated: true,
  },
  transactions: {
    fields: {
      type: 'text',
      account_id: 'id',
      amount: 'amount',
      category_id: 'id',
      description: 'text',
      date: 'date',
    },
    state: { field: 'type', values: ['Income', 'Expense'] },
    filters: ['account_id'],
    dated: true,
  },
  products: { fields: { name: 'text', price: 'amount', description: 'text', type: 'text', tax_rate: 'number' } },
  quotes: { fields: { customer_id: 'id', valid_until: 'date', items: 'items' } },
  tickets: {
    fields: {
      customer_id: 'id',
      subject: 'text',
      message: 'text',
      department_id: 'id',
      priority: 'text',
      status: 'text',
    },
    state: { field: 'status', values: ['Open', 'Closed', 'Pending'] },
    filters: ['department_id'],
  },
  users: { fields: { name: 'text', email: 'text', role: 'text' } },
  orders: { fields: {} },
  suppliers: { fields: {} },
  purchases: { fields: {} },
} as const satisfies Record<string, ListShape>;

/** Row counts at which sources are known to truncate a list silently. */
export const SUSPICIOUS_COUNTS: readonly number[] = [20, 50, 100, 200, 250, 500, 1000, 2500];

export type ListName = keyof typeof LISTS;

export const LIST_NAMES = Object.keys(LISTS) as ListName[];

/** Lists whose operations the document does not show. */
export const UNDOCUMENTED_LISTS: readonly ListName[] = ['orders', 'suppliers', 'purchases'];

export const shapeOf = (name: ListName): ListShape => LISTS[name];
export const pathOf = (name: ListName) => `/api/v2/${name}`;
