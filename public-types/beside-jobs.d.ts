/**
 * The tables and views of the warehouse as `pg` reads them: `bigint` and `numeric` are text, so that no digit is lost.
 * `sluice describe --types` writes those of an installation, with its own fields and lists.
 */

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

// First those that no job declares, written from the database by test/public-types/warehouse-types.test.ts.

/** For Kysely: `new Kysely<Warehouse>({ .. }).withSchema('warehouse')`. */
export interface Warehouse {
  cash_flow_by_month: CashFlowByMonth;
  change_log: ChangeLog;
  changes: Changes;
  customer_balance: CustomerBalance;
  customer_value: CustomerValue;
  expenses_by_category: ExpensesByCategory;
  freshness: Freshness;
  open_invoices: OpenInvoices;
  overdue_invoices: OverdueInvoices;
  quote_conversion: QuoteConversion;
  receivables_ageing: ReceivablesAgeing;
  restatements: Restatements;
  revenue_by_month: RevenueByMonth;
  row_history: RowHistory;
  ticket_load: TicketLoad;
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

/** One row for each change of a row since its list was first read in full; the view changes shows what changed. */
export interface ChangeLog {
  /** Number of the change: without gaps, in the order of commits. */
  readonly number: string;
  /** The list, such as invoices. */
  readonly resource: string;
  /** The key of the row, as text; null if it was erased. */
  readonly key: string | null;
  /** inserted, updated, deleted, or revived: a row that had been deleted came back. */
  readonly kind: string;
  /** It happened at the source after this moment; null if that is not known. */
  readonly earliest: Date | null;
  /** It happened before this moment, when it was stored. */
  readonly seen_at: Date;
  /** The run that found it: sluice.runs. */
  readonly run_id: string | null;
}

/** Every change of a row in the last 30 days, with what it was before and after: docs/changes.md */
export interface Changes {
  /** Number of the change: without gaps, in the order of commits. */
  readonly number: string | null;
  /** The list, such as invoices. */
  readonly resource: string | null;
  /** The key of the row, as text; null if it was erased. */
  readonly key: string | null;
  /** inserted, updated, deleted, or revived: a row that had been deleted came back. */
  readonly kind: string | null;
  /** The row as it was, with its child rows; of an updated one, what differs. */
  readonly before: unknown;
  /** The row as it was after the change; of an updated one, what differs. */
  readonly after: unknown;
  /** It happened at the source after this moment; null if that is not known. */
  readonly earliest: Date | null;
  /** It happened before this moment, when it was stored. */
  readonly seen_at: Date | null;
  /** The run that found it: sluice.runs. */
  readonly run_id: string | null;
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

/** What changed in closed months since they were closed: docs/history.md */
export interface Restatements {
  /** Closed month. */
  readonly month: string | null;
  /** List. */
  readonly resource: string | null;
  /** Primary key of the row. */
  readonly key: string | null;
  /** added, changed or deleted. */
  readonly kind: string | null;
  /** The row as it was; of a changed one, the fields that differ. */
  readonly before: unknown;
  /** The row as it is now; of a changed one, the fields that differ. */
  readonly after: unknown;
  /** When the month was closed. */
  readonly sealed_at: Date | null;
  /** When the row last changed here; null for a deleted one. */
  readonly seen_at: Date | null;
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
  /** The change that ended it: change_log; null before those were numbered. */
  readonly number: string | null;
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
