import type { z } from 'zod';
import type { batchEntry, createBodies, customerChanges } from './bodies.ts';
import type { CreateOperation, Outcome, RecordOperations } from './change-operations.ts';
import type * as filters from './filters.ts';
import type { ListOperations } from './list-operations.ts';
import type * as rows from './rows.ts';
import type { CallOptions } from './session.ts';

/** `account` is the customer's name; stamps are ISO 8601 texts as they came. */
export type Customer = z.output<typeof rows.customerRow>;
/** `status` is `Paid`, `Unpaid`, `Partially Paid` or another; amounts are exact decimal text, dates `YYYY-MM-DD`. Lists may leave out `date` and `notes`. */
export type Invoice = z.output<typeof rows.invoiceRow>;
/** `type` is `Income`, `Expense` or another; rows of some sources have no `id`. */
export type Transaction = z.output<typeof rows.transactionRow>;
/** `type` is `service` for a service. */
export type Product = z.output<typeof rows.productRow>;
export type Quote = z.output<typeof rows.quoteRow>;
/** `status` is `Open`, `Closed`, `Pending` or another. */
export type Ticket = z.output<typeof rows.ticketRow>;
/** Without password, even where a source gives it away. */
export type User = z.output<typeof rows.userRow>;
/** A row of a list whose fields the API's document does not show, as it came; a number that would be rounded is text. */
export type OpaqueRow = z.output<typeof rows.opaqueRow>;
/** Sums as exact decimal text. */
export type FinancialSummary = z.output<typeof rows.financialSummary>;

/** Only `account`, the name, is asked for here; numbers and ids may be decimal text in every body. */
export type NewCustomer = z.input<typeof createBodies.customers>;
export type CustomerChanges = z.input<typeof customerChanges>;
export type BatchEntry = z.input<typeof batchEntry>;
export type NewInvoice = z.input<typeof createBodies.invoices>;
export type NewTransaction = z.input<typeof createBodies.transactions>;
export type NewProduct = z.input<typeof createBodies.products>;
export type NewQuote = z.input<typeof createBodies.quotes>;
export type NewTicket = z.input<typeof createBodies.tickets>;
export type NewLead = z.input<typeof createBodies.leads>;
export type NewUser = z.input<typeof createBodies.users>;
export type NewWebhook = z.input<typeof createBodies.webhooks>;

export type SearchFilters = z.input<typeof filters.searchFilters>;
export type InvoiceFilters = z.input<typeof filters.invoiceFilters>;
export type TransactionFilters = z.input<typeof filters.transactionFilters>;
export type TicketFilters = z.input<typeof filters.ticketFilters>;
export type Period = z.input<typeof filters.period>;

/** Every endpoint of the API's document. */
export interface SluiceClient {
  /** @example for await (const customer of client.customers.all({ search: 'example.com' })) console.log(customer.account); */
  readonly customers: ListOperations<Customer, SearchFilters> &
    CreateOperation<NewCustomer> &
    RecordOperations<Customer, CustomerChanges>;
  /** @example const { rows } = await client.invoices.list({ status: 'Unpaid', date_from: '2026-01-01' }); */
  readonly invoices: ListOperations<Invoice, InvoiceFilters> & CreateOperation<NewInvoice>;
  /** @example for await (const { amount } of client.transactions.all({ type: 'Income' })) console.log(amount); */
  readonly transactions: ListOperations<Transaction, TransactionFilters> & CreateOperation<NewTransaction>;
  readonly products: ListOperations<Product> & CreateOperation<NewProduct>;
  readonly quotes: ListOperations<Quote> & CreateOperation<NewQuote>;
  /** @example const { rows } = await client.tickets.list({ status: 'Open', department_id: 2 }); */
  readonly tickets: ListOperations<Ticket, TicketFilters> & CreateOperation<NewTicket>;
  /** The API has no list of leads. */
  readonly leads: CreateOperation<NewLead>;
  readonly users: ListOperations<User> & CreateOperation<NewUser>;
  /** Not every source offers this list; the kind `absent` says so. */
  readonly orders: ListOperations<OpaqueRow>;
  /** Not every source offers this list; the kind `absent` says so. */
  readonly suppliers: ListOperations<OpaqueRow>;
  /** Not every source offers this list; the kind `absent` says so. */
  readonly purchases: ListOperations<OpaqueRow>;
  readonly reports: {
    /** Sums of a month or a year; of which when none is given, is not shown. Undefined where the source has no report. */
    financial(period?: Period, options?: CallOptions): Promise<FinancialSummary | undefined>;
  };
  readonly webhooks: {
    /** Event kinds that appear in the document: `invoice.created` and `payment.received`. It shows no way to list or remove one. */
    register(webhook: NewWebhook, options?: CallOptions): Promise<Outcome>;
  };
  readonly batch: {
    /**
     * Creates several customers with one request, never repeated where it may have arrived. What becomes of the others when one is wrong is
     * not shown: some sources refuse all (kind `refused`, `fields` such as `customers.1.email`), some create the rest and say so in `data`.
     */
    customers(entries: readonly BatchEntry[], options?: CallOptions): Promise<Outcome>;
  };
  /** Stops what waits and is in flight, and closes the connections. */
  close(): Promise<void>;
}
