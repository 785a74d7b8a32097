import type { z } from 'zod';
import type * as filters from '../api/query-filters.ts';
import type { batchEntry, createBodies, customerChanges } from '../api/request-bodies.ts';
import type * as rows from '../api/response-rows.ts';
import type { CreateOperation, Outcome, RecordOperations } from './change-operations.ts';
import type { ListOperations } from './read-operations.ts';
import type { CallOptions } from './session.ts';

/** `account` is the customer's name; time stamps are ISO 8601 texts as the source sent them. */
export type Customer = z.output<typeof rows.customerRow>;
/** `status` is `Paid`, `Unpaid`, `Partially Paid` or another; amounts are exact decimal text, dates `YYYY-MM-DD`. Lists may omit `date` and `notes`. */
export type Invoice = z.output<typeof rows.invoiceRow>;
/** `type` is `Income`, `Expense` or another; rows of some sources have no `id`. */
export type Transaction = z.output<typeof rows.transactionRow>;
/** `type` is `service` for a service. */
export type Product = z.output<typeof rows.productRow>;
export type Quote = z.output<typeof rows.quoteRow>;
/** `status` is `Open`, `Closed`, `Pending` or another. */
export type Ticket = z.output<typeof rows.ticketRow>;
/** Never has a password, even if the source sends one. */
export type User = z.output<typeof rows.userRow>;
/** A row as the source sent it, of a list whose fields the API's document does not show; a number that would be rounded is text. */
export type OpaqueRow = z.output<typeof rows.opaqueRow>;
/** Sums as exact decimal text. */
export type FinancialSummary = z.output<typeof rows.financialSummary>;

/** Only `account`, the name, is required. Numbers and ids may be decimal text in every body. */
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

/** One operation for each endpoint of the API's document. */
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
  /** Throws the kind `absent` if the source does not offer this list. */
  readonly orders: ListOperations<OpaqueRow>;
  /** Throws the kind `absent` if the source does not offer this list. */
  readonly suppliers: ListOperations<OpaqueRow>;
  /** Throws the kind `absent` if the source does not offer this list. */
  readonly purchases: ListOperations<OpaqueRow>;
  readonly reports: {
    /** Sums of a month or a year; the document does not show the default period. Returns undefined if the source has no report. */
    financial(period?: Period, options?: CallOptions): Promise<FinancialSummary | undefined>;
  };
  readonly webhooks: {
    /** The document names the events `invoice.created` and `payment.received`. It shows no way to list or remove a webhook. */
    register(webhook: NewWebhook, options?: CallOptions): Promise<Outcome>;
  };
  readonly batch: {
    /**
     * Creates several customers with one request, which is never repeated if it may have arrived. The document does not say what happens to
     * the others when one is invalid: some sources refuse all (kind `refused`, `fields` such as `customers.1.email`), some create the rest
     * and report it in `data`.
     */
    customers(entries: readonly BatchEntry[], options?: CallOptions): Promise<Outcome>;
  };
  /** Stops all requests that wait or are in flight, and closes the connections. */
  close(): Promise<void>;
}
