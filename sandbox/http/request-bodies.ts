import { z } from 'zod';
import { dayOf, NO_DAY } from '../data/calendar.ts';
import { totalOf } from '../data/generate-invoices.ts';
import { documentedTypes } from '../data/generate-transactions.ts';
import type { Invoice, Resource, Rows } from '../data/rows.ts';

// The document does not show which fields are required; here they are those without which a row makes no sense.

const text = z
  .string('Must be a string')
  .nullish()
  .transform(value => value ?? null);
const required = z.string('This field is required').trim().min(1, 'This field is required');
const email = z
  .union([z.literal(''), z.email('Invalid email format')], 'Invalid email format')
  .nullish()
  .transform(value => value ?? null);
const id = z.int('Must be an integer').positive('Must be an integer');
const date = z
  .string('This field is required')
  .refine(value => dayOf(value) !== NO_DAY, 'Invalid date, expected YYYY-MM-DD')
  .meta({ format: 'date' });
const amount = z.number('Must be a number').positive('Amount must be greater than 0');
const item = z.object({
  description: text,
  amount: z.number('Must be a number'),
  qty: z.number('Must be a number').default(1),
});
const items = z.array(item, 'Must be a list of items').min(1, 'At least one item is required');

export const customerBody = z.object({
  account: required,
  email,
  phone: text,
  address: text,
  city: text,
  state: text,
  zip: text,
  country: text,
});

const invoiceBody = z
  .object({ customer_id: id, date, due_date: date.nullish().transform(value => value ?? null), items, notes: text })
  .refine(body => totalOf(body.items) > 0, { path: ['amount'], message: 'Amount must be greater than 0' });

/** The body of a POST to each list. Its output has the fields of a row, except those that the source adds. */
export const createBodies = {
  customers: customerBody,
  invoices: invoiceBody,
  transactions: z.object({
    type: z.enum(documentedTypes, 'Must be Income or Expense'),
    account_id: id,
    category_id: id.nullish().transform(value => value ?? null),
    amount,
    description: text,
    date,
  }),
  products: z.object({
    name: required,
    price: z.number('Must be a number').min(0, 'Must not be negative'),
    description: text,
    type: z.string().default('product'),
    tax_rate: z
      .number('Must be a number')
      .nullish()
      .transform(value => value ?? null),
  }),
  quotes: z.object({ customer_id: id, valid_until: date, items }),
  tickets: z.object({
    customer_id: id,
    subject: required,
    message: text,
    department_id: id,
    priority: z.string().default('Medium'),
  }),
  leads: z.object({ first_name: required, last_name: required, email, company: text, phone: text, source: text }),
  users: z.object({
    name: required,
    email: z.email('Invalid email format'),
    password: required,
    role: z.string().default('staff'),
  }),
} as const;

export type Creatable = keyof typeof createBodies;

const address = z
  .string('This field is required')
  .refine(isAllowedAddress, 'Must be an HTTPS address')
  .meta({ format: 'uri', description: 'HTTPS address that receives notifications' });
export const webhookBody = z.object({
  url: address,
  events: z.array(z.string(), 'Must be a list').min(1, 'At least one event is required'),
});
export const batchBody = z.object({
  customers: z.array(z.unknown(), 'Must be a list').min(1, 'At least one customer is required'),
});

/** HTTPS as documented, and plain HTTP to this machine for local tests. */
function isAllowedAddress(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return (
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname))
  );
}

/** A validated body with the fields that the source adds. */
export function completeRow<R extends Creatable>(
  resource: R,
  body: z.infer<(typeof createBodies)[R]>,
  nextId: number,
  stamp: string,
): Omit<Rows[R], 'id'> {
  const added: Partial<Record<Resource, object>> = {
    customers: { created_at: stamp, updated_at: stamp },
    invoices: { invoice_number: `INV-${String(nextId).padStart(6, '0')}`, status: 'Unpaid' },
    tickets: { status: 'Open' },
  };
  const row = { ...(body as object), ...added[resource] } as Record<string, unknown>;
  if (resource === 'invoices') row.amount = totalOf((body as Pick<Invoice, 'items'>).items);
  delete row.password;
  return row as unknown as Omit<Rows[R], 'id'>;
}

/** The first message of each field, as in the `errors` object of the API. */
export function errorsOf(error: z.ZodError): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const issue of error.issues) errors[issue.path.join('.') || 'body'] ??= issue.message;
  return errors;
}
