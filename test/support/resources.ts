import customers from '../../jobs/customers.ts';
import financialSummaries from '../../jobs/financial_summaries.ts';
import invoices from '../../jobs/invoices.ts';
import orders from '../../jobs/orders.ts';
import products from '../../jobs/products.ts';
import purchases from '../../jobs/purchases.ts';
import quotes from '../../jobs/quotes.ts';
import suppliers from '../../jobs/suppliers.ts';
import tickets from '../../jobs/tickets.ts';
import transactions from '../../jobs/transactions.ts';
import users from '../../jobs/users.ts';

export const JOBS = {
  customers,
  invoices,
  transactions,
  products,
  quotes,
  tickets,
  users,
  financial_summaries: financialSummaries,
  orders,
  suppliers,
  purchases,
};

export type TestResource = keyof typeof JOBS;

/** The large lists, which most tests are about. */
export const MAIN = ['customers', 'invoices', 'transactions'] as const satisfies TestResource[];
export const ALL = Object.keys(JOBS) as TestResource[];

/** Settings that read the large lists at these times, and the other lists never. */
export const scheduled = (cron: string): Record<string, string> =>
  Object.fromEntries(
    ALL.map(name => [`SCHEDULE_${name.toUpperCase()}`, MAIN.some(each => each === name) ? cron : 'off']),
  );
