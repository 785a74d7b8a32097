import { z } from 'zod';

/**
 * One schema per resource, with every documented field; `null` means no value. The schemas define the row types and the
 * OpenAPI description. Rows are never validated against them, so that tests can store invalid ones.
 */

/** Marks in the OpenAPI description what the API document leaves open. */
export function undocumented(what: string): { 'x-undocumented': string } {
  return { 'x-undocumented': what };
}

/** A number, or the decimal text of a number with more digits than a double holds. Both are sent as JSON numbers. */
export type Amount = number | string;

const amount: z.ZodType<Amount> = z.number();
const date = z.iso.date();
const id = z.int();
const unshownId = z.int().meta(undocumented('whether rows are returned with an id'));
const text = z.string();
const none = 'how the source represents a missing value (here: null)';

const customer = z
  .object({
    id,
    account: text,
    email: text.nullable(),
    phone: text.nullable(),
    address: text.nullable(),
    city: text.nullable(),
    state: text.nullable(),
    zip: text.nullable(),
    country: text.nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Customer', ...undocumented(none) });

const item = z.object({ description: text.nullable(), amount, qty: z.number() }).meta({ id: 'Item' });

const invoice = z
  .object({
    id,
    invoice_number: text,
    customer_id: id,
    date: date.nullable().meta(undocumented('whether it is returned')),
    due_date: date.nullable(),
    amount,
    status: text.meta({ description: 'Paid, Unpaid or Partially Paid' }),
    items: z.array(item),
    notes: text.nullable().meta(undocumented('whether it is returned')),
  })
  .meta({ id: 'Invoice', ...undocumented(none) });

const transaction = z
  .object({
    id: unshownId,
    type: text.meta({ description: 'Income or Expense' }),
    account_id: id,
    category_id: id.nullable(),
    amount,
    description: text.nullable(),
    date: date.nullable(),
  })
  .meta({ id: 'Transaction', ...undocumented('which fields are returned') });

const product = z
  .object({
    id: unshownId,
    name: text,
    price: amount,
    description: text.nullable(),
    type: text.meta({ description: '`service` for a service', ...undocumented('any other value') }),
    tax_rate: z.number().nullable(),
  })
  .meta({ id: 'Product', ...undocumented('which fields are returned') });

const quote = z
  .object({ id: unshownId, customer_id: id, valid_until: date.nullable(), items: z.array(item) })
  .meta({ id: 'Quote', ...undocumented('which fields are returned') });

const ticket = z
  .object({
    id: unshownId,
    customer_id: id,
    subject: text,
    message: text.nullable(),
    department_id: id,
    priority: text.meta(undocumented('its values')),
    status: text.meta({ description: 'Open, Closed or Pending' }),
  })
  .meta({ id: 'Ticket', ...undocumented('which fields are returned') });

const lead = z
  .object({
    id: unshownId,
    first_name: text,
    last_name: text,
    email: text.nullable(),
    company: text.nullable(),
    phone: text.nullable(),
    source: text.nullable().meta(undocumented('its values')),
  })
  .meta({ id: 'Lead', ...undocumented('which fields are returned') });

const user = z
  .object({
    id: unshownId,
    name: text,
    email: text,
    role: text.meta({ description: '`administrator` for an administrator', ...undocumented('any other value') }),
  })
  .meta({ id: 'User', ...undocumented('which fields are returned') });

/** The API document shows no fields of orders, purchases and suppliers; these are invented. */
const order = z
  .object({ id, number: text, total: amount, placed_on: date })
  .meta({ id: 'Order', ...undocumented('all fields; these are invented') });

const supplier = z
  .object({ id, name: text, email: text.nullable() })
  .meta({ id: 'Supplier', ...undocumented('all fields; these are invented') });

export const rowSchemas = {
  customers: customer,
  invoices: invoice,
  transactions: transaction,
  products: product,
  quotes: quote,
  tickets: ticket,
  leads: lead,
  users: user,
  orders: order,
  suppliers: supplier,
  purchases: order,
} as const;

export type Resource = keyof typeof rowSchemas;
export type Rows = { [R in Resource]: z.infer<(typeof rowSchemas)[R]> };

export type Customer = Rows['customers'];
export type Item = z.infer<typeof item>;
export type Invoice = Rows['invoices'];
export type Transaction = Rows['transactions'];
export type Product = Rows['products'];
export type Quote = Rows['quotes'];
export type Ticket = Rows['tickets'];
export type User = Rows['users'];
export type Order = Rows['orders'];
export type Supplier = Rows['suppliers'];
