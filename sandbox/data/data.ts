import { dayOf } from './calendar.ts';
import { customerColumns, customerGenerator } from './generate-customers.ts';
import { invoiceColumns, invoiceGenerator, invoiceStates } from './generate-invoices.ts';
import {
  randomOrder,
  randomProduct,
  randomQuote,
  randomSupplier,
  randomTicket,
  randomUser,
  ticketStates,
} from './generate-small-lists.ts';
import { transactionColumns, transactionGenerator, transactionTypes } from './generate-transactions.ts';
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

/** All rows of the source, one table per resource. */
export type Data = { readonly [R in Resource]: Table<Rows[R]> };

export interface DataOptions {
  seed: number;
  counts: Counts;
  /** The day the data is generated for, YYYY-MM-DD. */
  today: string;
  /** Also undocumented states: Draft, Void, Cancelled, Transfer. */
  moreStates: boolean;
  /** One in 50 invoices and transactions has no date. */
  undated: boolean;
  /** Some amounts have more digits than a double holds. */
  beyondDouble: boolean;
  /** One in 50 invoices and transactions is of 1850, 2050 or 9999. */
  farDates: boolean;
  /** The dates of invoices and transactions ascend with their ids. */
  datesInOrder?: boolean;
  /** Ids of deleted rows above those that exist are issued again. */
  reissuedIds?: boolean;
}

/** Generates the data; the same options give the same data, byte for byte. */
export function createData(options: DataOptions): Data {
  const { seed, counts, reissuedIds = false } = options;
  const today = dayOf(options.today);
  const customers = customerColumns(counts.customers, seed, today);
  // These are the initial ids only: the table replaces its columns when it grows.
  const customerIds = customers.ids;
  const invoices = invoiceColumns(counts.invoices, seed, today, customerIds, options);
  const transactions = transactionColumns(counts.transactions, seed, today, options);
  const smallListCount = Math.min(2_000, 20 + Math.floor(counts.customers / 10));
  const seconds = today * 86_400;

  const smallTable = <R extends Resource>(
    salt: number,
    count: number,
    generate: (random: Random, index: number) => Omit<Rows[R], 'id'>,
    source: Partial<TableSource<Rows[R]>> = {},
  ): Table<Rows[R]> => {
    const random = createRandom(mix(seed, salt));
    const table = createTable<Rows[R]>({ states: [], keysOf: () => ({}), reissuedIds, ...source });
    for (let index = 0; index < count; index += 1) table.insert(generate(random, index), seconds);
    return table;
  };

  return {
    customers: createTable({
      reissuedIds,
      states: [''],
      keysOf: row => ({ date: String(row.created_at).slice(0, 10) }),
      searchText: row => `${row.account}\n${row.email ?? ''}\n${row.phone ?? ''}`,
      columns: customers,
      generate: customerGenerator(seed, customers),
    }),
    invoices: createTable({
      reissuedIds,
      states: invoiceStates,
      keysOf: row => ({ date: row.date, state: row.status, owner: row.customer_id }),
      columns: invoices,
      generate: invoiceGenerator(seed, invoices, options),
    }),
    transactions: createTable({
      reissuedIds,
      states: transactionTypes,
      keysOf: row => ({ date: row.date, state: row.type, owner: row.account_id }),
      columns: transactions,
      generate: transactionGenerator(seed, transactions, options),
    }),
    products: smallTable<'products'>(11, smallListCount, randomProduct),
    quotes: smallTable<'quotes'>(12, smallListCount, random => randomQuote(random, customerIds, today)),
    tickets: smallTable<'tickets'>(13, smallListCount, random => randomTicket(random, customerIds), {
      states: ticketStates,
      keysOf: row => ({ state: row.status, owner: row.department_id }),
    }),
    leads: createTable({ reissuedIds, states: [], keysOf: () => ({}) }),
    users: smallTable<'users'>(14, 8, randomUser),
    orders: smallTable<'orders'>(15, smallListCount, (random, index) => randomOrder(random, 'SO', index, today)),
    suppliers: smallTable<'suppliers'>(16, 25, randomSupplier),
    purchases: smallTable<'purchases'>(17, smallListCount, (random, index) => randomOrder(random, 'PO', index, today)),
  };
}
