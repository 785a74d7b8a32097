import { z } from 'zod';
import { checked, field } from '../answers/field.ts';
import { asList } from '../answers/json.ts';
import { BadValue, dateText, decimalText, integerText, kindOf, stampText } from '../answers/values.ts';

/**
 * The rows and reports of answers, as the API's document describes them. It shows an id only for customers and invoices, and does not show
 * the fields of the other lists, so any of those may be absent.
 *
 * Sources write the same value as a number or as text, and an empty value as null, `""` or `0000-00-00`: here a value is its exact text,
 * and an empty value is null. An absent field stays absent, and undocumented fields are kept as the source sent them.
 */

/** Text; a number or a boolean is converted to text. */
const text = () => field(anyText);
/** Exact decimal text without trailing zeros, e.g. `1500.5`. */
const decimal = () => field(decimalText);
/** A whole number as text, e.g. `17`, because an id may have more digits than a number holds. */
const id = () => field(integerText);
/** An id that every row has. */
const ownId = () => z.unknown().transform((value, context) => checked(value, context, ownIdText));
/** `YYYY-MM-DD` as the source sent it, whatever the zone. */
const date = () => field(dateText);
/** An ISO 8601 time stamp as the source sent it; without a zone it is in the source's own. */
const stamp = () => field(stampText);
/** A list of records. */
const list = <S extends z.ZodType>(record: S) =>
  z
    .preprocess(value => (value === '' ? null : asList(value)), z.array(record, 'expected a list').nullable())
    .optional();

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

function anyText(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return decimalText(value);
  if (typeof value === 'boolean') return String(value);
  throw new BadValue(`expected text, got ${kindOf(value)}`);
}

function ownIdText(value: unknown): string {
  const whole = value === undefined ? null : integerText(value);
  if (whole === null) throw new BadValue('expected an id');
  return whole;
}
