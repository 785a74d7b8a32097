import { z } from 'zod';
import { date, decimal, id, list, ownId, stamp, text } from './row-fields.ts';

/**
 * The rows and reports of answers, as the API's document describes them. It shows an id only for customers and invoices, and does not show
 * the fields of the other lists, so any of those may be absent.
 */

const record = <S extends z.ZodRawShape>(shape: S) => z.looseObject(shape, 'expected an object');

const item = record({
  description: text(),
  /** The document does not show whether this is the price of one or of all. */
  amount: decimal(),
  qty: decimal(),
});

export const customerRow = record({
  id: ownId(),
  /** The customer's name. */
  account: text(),
  email: text(),
  phone: text(),
  address: text(),
  city: text(),
  state: text(),
  zip: text(),
  country: text(),
  created_at: stamp(),
  updated_at: stamp(),
});

export const invoiceRow = record({
  id: ownId(),
  invoice_number: text(),
  customer_id: id(),
  date: date(),
  due_date: date(),
  amount: decimal(),
  /** `Paid`, `Unpaid` or `Partially Paid`; sources have more, such as `Draft`. */
  status: text(),
  items: list(item),
  notes: text(),
});

export const transactionRow = record({
  id: id(),
  /** `Income` or `Expense`; sources have more, such as `Transfer`. */
  type: text(),
  account_id: id(),
  amount: decimal(),
  category_id: id(),
  description: text(),
  date: date(),
});

export const productRow = record({
  id: id(),
  name: text(),
  price: decimal(),
  description: text(),
  /** `service` for a service. */
  type: text(),
  tax_rate: decimal(),
});

export const quoteRow = record({
  id: id(),
  customer_id: id(),
  valid_until: date(),
  items: list(item),
});

export const ticketRow = record({
  id: id(),
  customer_id: id(),
  subject: text(),
  message: text(),
  department_id: id(),
  priority: text(),
  /** `Open`, `Closed` or `Pending`; sources may have more. */
  status: text(),
});

/** A password that a source sends, hashed or not, is removed. */
export const userRow = record({ id: id(), name: text(), email: text(), role: text() }).transform(row => {
  const shown = { ...row };
  delete shown.password;
  return shown;
});

/** Orders, suppliers and purchases, whose fields the document does not show. A number that would be rounded is text. */
export const opaqueRow = z.record(z.string(), z.unknown(), 'expected an object');

export const financialSummary = record({
  income: decimal(),
  expenses: decimal(),
  profit: decimal(),
  outstanding_invoices: decimal(),
});
