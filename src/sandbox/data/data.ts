import { dayOf } from './calendar.ts';
import { customerColumns, customerMaker } from './generate-customers.ts';
import { invoiceColumns, invoiceMaker, invoiceStates } from './generate-invoices.ts';
import {
  someOrder,
  someProduct,
  someQuote,
  someSupplier,
  someTicket,
  someUser,
  ticketStates,
} from './generate-small-lists.ts';
import { transactionColumns, transactionMaker, transactionTypes } from './generate-transactions.ts';
import { createRandom, mix, type Random } from './random.ts';
import type { Resource, Rows } from './rows.ts';
import { createTable, type Table, type TableSource } from './table.ts';

export interface Counts {
  customers: number;
  invoices: number;
  transactions: number;
}

export const sizes = {
  small: { customers: 150, invoices: 600, transactions: 1_500 },
  medium: { customers: 1_200, invoices: 12_000, transactions: 25_000 },
  large: { customers: 5_000, invoices: 40_000, transactions: 90_000 },
  extreme: { customers: 200_000, invoices: 200_000, transactions: 1_000_000 },
} as const satisfies Record<string, Counts>;

export type Size = keyof typeof sizes;

/** Everything the sandbox holds, one table per resource. */
export type Data = { readonly [R in Resource]: Table<Rows[R]> };

export interface DataOptions {
  seed: number;
  counts: Counts;
  /** The newest date of the first rows, YYYY-MM-DD. */
  today: string;
  moreStates: boolean;
  undated: boolean;
  beyondDouble: boolean;
}

/** The same options give the same data, byte for byte. */
export function createData(options: DataOptions): Data {
  const { seed, counts } = options;
  const today = dayOf(options.today);
  const customers = customerColumns(counts.customers, seed, today);
  // The ids as they are now: the table may grow its own columns later.
  const customerIds = customers.ids;
  const invoices = invoiceColumns(counts.invoices, seed, today, customerIds, options);
  const transactions = transactionColumns(counts.transactions, seed, today, options);
  const few = Math.min(2_000, 20 + Math.floor(counts.customers / 10));
  const seconds = today * 86_400;

  const fill = <R extends Resource>(
    salt: number,
    count: number,
    make: (random: Random, index: number) => Omit<Rows[R], 'id'>,
    source: Partial<TableSource<Rows[R]>> = {},
  ): Table<Rows[R]> => {
    const random = createRandom(mix(seed, salt));
    const table = createTable<Rows[R]>({ states: [], keysOf: () => ({}), ...source });
    for (let index = 0; index < count; index += 1) table.insert(make(random, index), seconds);
    return table;
  };

  return {
    customers: createTable({
      states: [''],
      keysOf: row => ({ date: String(row.created_at).slice(0, 10) }),
      searchText: row => `${row.account}\n${row.email ?? ''}\n${row.phone ?? ''}`,
      columns: customers,
      generate: customerMaker(seed, customers),
    }),
    invoices: createTable({
      states: invoiceStates,
      keysOf: row => ({ date: row.date, state: row.status, owner: row.customer_id }),
      columns: invoices,
      generate: invoiceMaker(seed, invoices, options),
    }),
    transactions: createTable({
      states: transactionTypes,
      keysOf: row => ({ date: row.date, state: row.type, owner: row.account_id }),
      columns: transactions,
      generate: transactionMaker(seed, transactions, options),
    }),
    products: fill<'products'>(11, few, someProduct),
    quotes: fill<'quotes'>(12, few, random => someQuote(random, customerIds, today)),
    tickets: fill<'tickets'>(13, few, random => someTicket(random, customerIds), {
      states: ticketStates,
      keysOf: row => ({ state: row.status, owner: row.department_id }),
    }),
    leads: createTable({ states: [], keysOf: () => ({}) }),
    users: fill<'users'>(14, 8, someUser),
    orders: fill<'orders'>(15, few, (random, index) => someOrder(random, 'SO', index, today)),
    suppliers: fill<'suppliers'>(16, 25, someSupplier),
    purchases: fill<'purchases'>(17, few, (random, index) => someOrder(random, 'PO', index, today)),
  };
}
