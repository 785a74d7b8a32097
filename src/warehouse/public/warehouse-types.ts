/**
 * The tables and views of the warehouse as `pg` reads them: `bigint` and `numeric` are text, so that no digit is lost.
 * Written from the database by test/warehouse/public-types.test.ts.
 */

/** For Kysely: `new Kysely<Warehouse>({ .. }).withSchema('warehouse')`. */
export interface Warehouse {
  cash_flow_by_month: CashFlowByMonth;
  customer_balance: CustomerBalance;
  customer_value: CustomerValue;
  customers: Customers;
  customers_history: CustomersHistory;
  expenses_by_category: ExpensesByCategory;
  financial_summaries: FinancialSummaries;
  financial_summaries_history: FinancialSummariesHistory;
  freshness: Freshness;
  invoice_items: InvoiceItems;
  invoices: Invoices;
  invoices_history: InvoicesHistory;
  open_invoices: OpenInvoices;
  orders: Orders;
  orders_history: OrdersHistory;
  overdue_invoices: OverdueInvoices;
  products: Products;
  products_history: ProductsHistory;
  purchases: Purchases;
  purchases_history: PurchasesHistory;
  quote_conversion: QuoteConversion;
  quote_items: QuoteItems;
  quotes: Quotes;
  quotes_history: QuotesHistory;
  receivables_ageing: ReceivablesAgeing;
  revenue_by_month: RevenueByMonth;
  row_history: RowHistory;
  suppliers: Suppliers;
  suppliers_history: SuppliersHistory;
  ticket_load: TicketLoad;
  tickets: Tickets;
  tickets_history: TicketsHistory;
  transactions: Transactions;
  transactions_history: TransactionsHistory;
  users: Users;
  users_history: UsersHistory;
}

/** As `pg` reads an interval; what is zero is left out. */
export interface Interval {
  readonly years?: number;
  readonly months?: number;
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly milliseconds?: number;
}

/** Transactions by month: what came in, what went out. */
export interface CashFlowByMonth {
  /** First day of the month. */
  readonly month: Date | null;
  /** Transactions of type Income. */
  readonly income: string | null;
  /** Transactions of type Expense. */
  readonly expenses: string | null;
  /** Income less expenses. */
  readonly net: string | null;
  /** SOURCE_CURRENCY; null where it is not set, as the API names no currency. */
  readonly currency: string | null;
}

/** What each customer was billed, has paid and owes. */
export interface CustomerBalance {
  /** customers.id */
  readonly customer_id: string | null;
  /** Name of the customer. */
  readonly customer: string | null;
  /** How many. */
  readonly invoices: string | null;
  /** Their total. */
  readonly billed: string | null;
  /** The total of those that are Paid. */
  readonly paid: string | null;
  /** The total of those that are Unpaid or Partially Paid. */
  readonly open: string | null;
  /** The part of open whose due date has passed. */
  readonly overdue: string | null;
  /** SOURCE_CURRENCY; null where it is not set, as the API names no currency. */
  readonly currency: string | null;
}

/** What each customer has paid so far, and how fast. */
export interface CustomerValue {
  /** customers.id */
  readonly customer_id: string | null;
  /** Name of the customer. */
  readonly customer: string | null;
  /** The total of the paid invoices. */
  readonly lifetime_value: string | null;
  /** How many. */
  readonly paid_invoices: string | null;
  /** Date of the first invoice. */
  readonly first_invoice: Date | null;
  /** Date of the last invoice. */
  readonly last_invoice: Date | null;
  /** Average days from the date of an invoice until it was seen paid; only for invoices that were paid while HISTORY_INVOICES was on. */
  readonly days_to_pay: string | null;
  /** SOURCE_CURRENCY; null where it is not set, as the API names no currency. */
  readonly currency: string | null;
}

/** A customer. */
export interface Customers {
  /** The id at the source. */
  readonly id: string;
  /** Name of the person or company. */
  readonly account: string | null;
  /** E-mail address. */
  readonly email: string | null;
  /** Phone number, as it was typed. */
  readonly phone: string | null;
  /** Street and number. */
  readonly address: string | null;
  /** City. */
  readonly city: string | null;
  /** State or province. */
  readonly state: string | null;
  /** Postal code. */
  readonly zip: string | null;
  /** Country, as the source writes it. */
  readonly country: string | null;
  /** When it was created, as the source reports it. */
  readonly created_at: Date | null;
  /** When it was last changed, as the source reports it. */
  readonly updated_at: Date | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of customers: earlier ones since HISTORY_CUSTOMERS is on, deleted ones, and the current ones. */
export interface CustomersHistory {
  /** The id at the source. */
  readonly id: string | null;
  /** Name of the person or company. */
  readonly account: string | null;
  /** E-mail address. */
  readonly email: string | null;
  /** Phone number, as it was typed. */
  readonly phone: string | null;
  /** Street and number. */
  readonly address: string | null;
  /** City. */
  readonly city: string | null;
  /** State or province. */
  readonly state: string | null;
  /** Postal code. */
  readonly zip: string | null;
  /** Country, as the source writes it. */
  readonly country: string | null;
  /** When it was created, as the source reports it. */
  readonly created_at: Date | null;
  /** When it was last changed, as the source reports it. */
  readonly updated_at: Date | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}

/** Transactions of type Expense by month and category. */
export interface ExpensesByCategory {
  /** First day of the month. */
  readonly month: Date | null;
  /** The category, by its id at the source. */
  readonly category_id: string | null;
  /** How many. */
  readonly transactions: string | null;
  /** Their total. */
  readonly amount: string | null;
  /** SOURCE_CURRENCY; null where it is not set, as the API names no currency. */
  readonly currency: string | null;
}

/** What the source's own financial report says about a month. */
export interface FinancialSummaries {
  /** The month, as YYYY-MM. */
  readonly period: string;
  /** The year of the month. */
  readonly year: number | null;
  /** The month of the year, from 1. */
  readonly month: number | null;
  /** Income of the month. */
  readonly income: string | null;
  /** Expenses of the month. */
  readonly expenses: string | null;
  /** Income less expenses. */
  readonly profit: string | null;
  /** Outstanding invoices, as the source reports them. */
  readonly outstanding_invoices: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of financial_summaries: earlier ones since HISTORY_FINANCIAL_SUMMARIES is on, deleted ones, and the current ones. */
export interface FinancialSummariesHistory {
  /** The month, as YYYY-MM. */
  readonly period: string | null;
  /** The year of the month. */
  readonly year: number | null;
  /** The month of the year, from 1. */
  readonly month: number | null;
  /** Income of the month. */
  readonly income: string | null;
  /** Expenses of the month. */
  readonly expenses: string | null;
  /** Income less expenses. */
  readonly profit: string | null;
  /** Outstanding invoices, as the source reports them. */
  readonly outstanding_invoices: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}

/** As of when each list is proven equal to the source. */
export interface Freshness {
  /** The list. */
  readonly resource: string | null;
  /** Whether all of it has been read. */
  readonly complete: boolean | null;
  /** The oldest proof among its slices; null as long as it is not complete. */
  readonly equal_as_of: Date | null;
  /** How long ago that was. */
  readonly age: Interval | null;
  /** Rows that the source no longer shows and whose deletion is not proven yet. */
  readonly missing: string | null;
  /** Records that could not be stored. */
  readonly quarantined: string | null;
}

/** An item of an invoice. */
export interface InvoiceItems {
  /** The row that it belongs to: the primary key of invoices. */
  readonly invoice_id: string;
  /** Position in the list, from 1. */
  readonly line: number;
  /** What was sold. */
  readonly description: string | null;
  /** As the source reports it, whether the price of one or of all. */
  readonly amount: string | null;
  /** Quantity. */
  readonly qty: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
}

/** An invoice; its items are in invoice_items. */
export interface Invoices {
  /** The id at the source. */
  readonly id: string;
  /** The number that people see. */
  readonly invoice_number: string | null;
  /** The customer: customers.id. */
  readonly customer_id: string | null;
  /** Date of the invoice. */
  readonly date: Date | null;
  /** When it is to be paid. */
  readonly due_date: Date | null;
  /** Total of the invoice. */
  readonly amount: string | null;
  /** As the source calls it, such as Unpaid, Partially Paid or Paid. */
  readonly status: string | null;
  /** Notes on the invoice. */
  readonly notes: string | null;
  /** Hash of the record with its items; tells an unchanged row without comparing each column. */
  readonly _hash: Buffer | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of invoices: earlier ones since HISTORY_INVOICES is on, deleted ones, and the current ones. */
export interface InvoicesHistory {
  /** The id at the source. */
  readonly id: string | null;
  /** The number that people see. */
  readonly invoice_number: string | null;
  /** The customer: customers.id. */
  readonly customer_id: string | null;
  /** Date of the invoice. */
  readonly date: Date | null;
  /** When it is to be paid. */
  readonly due_date: Date | null;
  /** Total of the invoice. */
  readonly amount: string | null;
  /** As the source calls it, such as Unpaid, Partially Paid or Paid. */
  readonly status: string | null;
  /** Notes on the invoice. */
  readonly notes: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** Its rows of invoice_items, in their order. */
  readonly items: unknown;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}

/** Invoices that are Unpaid or Partially Paid, the longest overdue first. */
export interface OpenInvoices {
  /** invoices.id */
  readonly id: string | null;
  /** The number that people see. */
  readonly invoice_number: string | null;
  /** customers.id */
  readonly customer_id: string | null;
  /** Name of the customer. */
  readonly customer: string | null;
  /** Date of the invoice. */
  readonly date: Date | null;
  /** When it is to be paid. */
  readonly due_date: Date | null;
  /** Days since the due date; negative before it. */
  readonly days_overdue: number | null;
  /** Total of the invoice: how much of it was paid already, the API does not tell. */
  readonly amount: string | null;
  /** Unpaid or Partially Paid. */
  readonly status: string | null;
  /** SOURCE_CURRENCY; null where it is not set, as the API names no currency. */
  readonly currency: string | null;
}

/** An order, kept whole: the documentation of the source shows no fields. */
export interface Orders {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** The row as received, as JSON. */
  readonly record: unknown;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of orders: earlier ones since HISTORY_ORDERS is on, deleted ones, and the current ones. */
export interface OrdersHistory {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string | null;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** The row as received, as JSON. */
  readonly record: unknown;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}

/** Open invoices whose due date has passed, the longest overdue first. */
export interface OverdueInvoices {
  /** invoices.id */
  readonly id: string | null;
  /** The number that people see. */
  readonly invoice_number: string | null;
  /** customers.id */
  readonly customer_id: string | null;
  /** Name of the customer. */
  readonly customer: string | null;
  /** Date of the invoice. */
  readonly date: Date | null;
  /** When it is to be paid. */
  readonly due_date: Date | null;
  /** Days since the due date; negative before it. */
  readonly days_overdue: number | null;
  /** Total of the invoice: how much of it was paid already, the API does not tell. */
  readonly amount: string | null;
  /** Unpaid or Partially Paid. */
  readonly status: string | null;
  /** SOURCE_CURRENCY; null where it is not set, as the API names no currency. */
  readonly currency: string | null;
}

/** A product or a service. */
export interface Products {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** Name. */
  readonly name: string | null;
  /** Price. */
  readonly price: string | null;
  /** Description. */
  readonly description: string | null;
  /** service for a service. */
  readonly type: string | null;
  /** Tax rate, as the source reports it. */
  readonly tax_rate: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of products: earlier ones since HISTORY_PRODUCTS is on, deleted ones, and the current ones. */
export interface ProductsHistory {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string | null;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** Name. */
  readonly name: string | null;
  /** Price. */
  readonly price: string | null;
  /** Description. */
  readonly description: string | null;
  /** service for a service. */
  readonly type: string | null;
  /** Tax rate, as the source reports it. */
  readonly tax_rate: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}

/** A purchase, kept whole: the documentation of the source shows no fields. */
export interface Purchases {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** The row as received, as JSON. */
  readonly record: unknown;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of purchases: earlier ones since HISTORY_PURCHASES is on, deleted ones, and the current ones. */
export interface PurchasesHistory {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string | null;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** The row as received, as JSON. */
  readonly record: unknown;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}

/** Quotes by the month in which they expire, and how many became invoices: the customer has an invoice with the same items. The API itself does not link them. */
export interface QuoteConversion {
  /** First day of the month in which the quotes expire. */
  readonly month: Date | null;
  /** How many. */
  readonly quotes: string | null;
  /** Those that became invoices. */
  readonly converted: string | null;
  /** The share of those, from 0 to 1. */
  readonly conversion: string | null;
}

/** An item of a quote. */
export interface QuoteItems {
  /** The row that it belongs to: the primary key of quotes. */
  readonly quote_key: string;
  /** Position in the list, from 1. */
  readonly line: number;
  /** What is offered. */
  readonly description: string | null;
  /** As the source reports it, whether the price of one or of all. */
  readonly amount: string | null;
  /** Quantity. */
  readonly qty: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
}

/** A quote; its items are in quote_items. */
export interface Quotes {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** The customer: customers.id. */
  readonly customer_id: string | null;
  /** The last day on which it can be accepted. */
  readonly valid_until: Date | null;
  /** Hash of the record with its items; tells an unchanged row without comparing each column. */
  readonly _hash: Buffer | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of quotes: earlier ones since HISTORY_QUOTES is on, deleted ones, and the current ones. */
export interface QuotesHistory {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string | null;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** The customer: customers.id. */
  readonly customer_id: string | null;
  /** The last day on which it can be accepted. */
  readonly valid_until: Date | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** Its rows of quote_items, in their order. */
  readonly items: unknown;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}

/** What each customer owes, by how long it is overdue. */
export interface ReceivablesAgeing {
  /** customers.id */
  readonly customer_id: string | null;
  /** Name of the customer. */
  readonly customer: string | null;
  /** Open invoices that are not due yet. */
  readonly not_due: string | null;
  /** Overdue by 1 to 30 days. */
  readonly days_1_30: string | null;
  /** Overdue by 31 to 60 days. */
  readonly days_31_60: string | null;
  /** Overdue by 61 to 90 days. */
  readonly days_61_90: string | null;
  /** Overdue by more than 90 days. */
  readonly over_90_days: string | null;
  /** All open invoices. */
  readonly total: string | null;
  /** SOURCE_CURRENCY; null where it is not set, as the API names no currency. */
  readonly currency: string | null;
}

/** Invoices by the month of their date, those with another status included. */
export interface RevenueByMonth {
  /** First day of the month. */
  readonly month: Date | null;
  /** How many. */
  readonly invoices: string | null;
  /** Their total. */
  readonly billed: string | null;
  /** The total of those that are Paid. */
  readonly paid: string | null;
  /** The total of those that are Unpaid or Partially Paid. */
  readonly open: string | null;
  /** SOURCE_CURRENCY; null where it is not set, as the API names no currency. */
  readonly currency: string | null;
}

/** Rows that were deleted at the source and, where the job asks for it, earlier versions of changed rows. */
export interface RowHistory {
  /** The list, such as invoices. */
  readonly resource: string;
  /** The key of the row, as text. */
  readonly key: string;
  /** All its columns as JSON, with its child rows in a list. */
  readonly row: unknown;
  /** When this version was stored. */
  readonly valid_from: Date;
  /** When it was deleted or changed. */
  readonly valid_to: Date;
  /** deleted or changed. */
  readonly ended_by: string;
  /** The run that ended it: sluice.runs. */
  readonly run_id: string | null;
}

/** A supplier, kept whole: the documentation of the source shows no fields. */
export interface Suppliers {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** The row as received, as JSON. */
  readonly record: unknown;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of suppliers: earlier ones since HISTORY_SUPPLIERS is on, deleted ones, and the current ones. */
export interface SuppliersHistory {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string | null;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** The row as received, as JSON. */
  readonly record: unknown;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}

/** Tickets by department, priority and status. */
export interface TicketLoad {
  /** The department, by its id at the source. */
  readonly department_id: string | null;
  /** As the source calls it. */
  readonly priority: string | null;
  /** Such as Open, Pending or Closed. */
  readonly status: string | null;
  /** How many. */
  readonly tickets: string | null;
  /** How many customers they are of. */
  readonly customers: string | null;
}

/** A support ticket. */
export interface Tickets {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** The customer: customers.id. */
  readonly customer_id: string | null;
  /** Subject. */
  readonly subject: string | null;
  /** The first message. */
  readonly message: string | null;
  /** The department, by its id at the source. */
  readonly department_id: string | null;
  /** As the source calls it. */
  readonly priority: string | null;
  /** Such as Open, Pending or Closed. */
  readonly status: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of tickets: earlier ones since HISTORY_TICKETS is on, deleted ones, and the current ones. */
export interface TicketsHistory {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string | null;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** The customer: customers.id. */
  readonly customer_id: string | null;
  /** Subject. */
  readonly subject: string | null;
  /** The first message. */
  readonly message: string | null;
  /** The department, by its id at the source. */
  readonly department_id: string | null;
  /** As the source calls it. */
  readonly priority: string | null;
  /** Such as Open, Pending or Closed. */
  readonly status: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}

/** Money that came in or went out. */
export interface Transactions {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** Such as Income or Expense. */
  readonly type: string | null;
  /** The bank or cash account, by its id at the source. */
  readonly account_id: string | null;
  /** The category, by its id at the source. */
  readonly category_id: string | null;
  /** Amount, as the source reports it. */
  readonly amount: string | null;
  /** What it was for. */
  readonly description: string | null;
  /** When it was booked. */
  readonly date: Date | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of transactions: earlier ones since HISTORY_TRANSACTIONS is on, deleted ones, and the current ones. */
export interface TransactionsHistory {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string | null;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** Such as Income or Expense. */
  readonly type: string | null;
  /** The bank or cash account, by its id at the source. */
  readonly account_id: string | null;
  /** The category, by its id at the source. */
  readonly category_id: string | null;
  /** Amount, as the source reports it. */
  readonly amount: string | null;
  /** What it was for. */
  readonly description: string | null;
  /** When it was booked. */
  readonly date: Date | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}

/** A user of the source. */
export interface Users {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** Name. */
  readonly name: string | null;
  /** E-mail address. */
  readonly email: string | null;
  /** What the user may do, as the source calls it. */
  readonly role: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date;
}

/** Every version of the rows of users: earlier ones since HISTORY_USERS is on, deleted ones, and the current ones. */
export interface UsersHistory {
  /** Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart. */
  readonly _key: string | null;
  /** The id at the source; null if it gives none. */
  readonly id: string | null;
  /** Name. */
  readonly name: string | null;
  /** E-mail address. */
  readonly email: string | null;
  /** What the user may do, as the source calls it. */
  readonly role: string | null;
  /** Fields that the job does not declare, as JSON; null when there are none. */
  readonly _extra: unknown;
  /** When the row last changed here; indexed. */
  readonly _synced_at: Date | null;
  /** When the request that brought this version of the row was granted. */
  readonly _read_at: Date | null;
  /** When this version was stored. */
  readonly valid_from: Date | null;
  /** When it was deleted or changed; null for the current version. */
  readonly valid_to: Date | null;
  /** deleted or changed; null for the current version. */
  readonly ended_by: string | null;
}
