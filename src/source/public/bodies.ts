import { z } from 'zod';
import { exactNumber } from '../answers/json.ts';

/**
 * What can be sent to each endpoint that creates something, as the API's document lists the fields. Which of them are required is not
 * shown there: required here is only what the thing makes no sense without; the source may ask for more and answers that itself. A field
 * that is not in the document is a mistake. Numbers and ids may also come as decimal text, as answers and CSV files have them.
 */

const says = (wrong: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is missing' : wrong),
});

const text = z.string(says('must be text'));
const filled = text.refine(value => value.trim() !== '', 'must not be empty');
/** As little as an address has: the source has its own rule, and letters beyond ASCII are legal. */
const email = text.regex(/^[^\s@]+@[^\s@]+\.[^\s@.]+$/u, 'must be an e-mail address such as ann@example.com');
const date = z.iso.date(says('must be a date such as 2026-01-15'));

/** Sent as a JSON number, so text that a double would round is refused and not rounded. */
const number = z
  .union([z.number(), z.string()], says('must be a number such as 1500.5'))
  .transform((value, context) => {
    if (typeof value === 'number') return value;
    const digits = value.trim();
    const exact = /^-?\d+(?:\.\d+)?$/.test(digits) ? exactNumber(digits) : undefined;
    if (typeof exact === 'number') return exact;
    const wrong = exact === undefined ? 'must be a number such as 1500.5' : 'has more digits than can be sent exactly';
    context.addIssue({ code: 'custom', message: wrong, input: value });
    return z.NEVER;
  });
const amount = number.refine(value => value > 0, 'must be greater than 0');
const id = number.refine(value => Number.isSafeInteger(value) && value > 0, 'must be a whole number greater than 0');

const item = z.strictObject({ description: text.optional(), amount: number, qty: number.optional() });
const items = z.array(item, says('must be a list of items')).min(1, 'must hold at least one item');

/** POST to each list, and to webhooks. */
export const createBodies = {
  customers: z.strictObject({
    account: filled,
    email: email.optional(),
    phone: text.optional(),
    address: text.optional(),
    city: text.optional(),
    state: text.optional(),
    zip: text.optional(),
    country: text.optional(),
  }),
  invoices: z.strictObject({
    customer_id: id,
    date,
    due_date: date.optional(),
    items,
    notes: text.optional(),
  }),
  transactions: z.strictObject({
    type: z.enum(['Income', 'Expense'], says('must be Income or Expense')),
    account_id: id,
    amount,
    category_id: id.optional(),
    description: text.optional(),
    date,
  }),
  products: z.strictObject({
    name: filled,
    price: number.optional(),
    description: text.optional(),
    /** `service` for a service; what else there is, the document does not show. */
    type: text.optional(),
    tax_rate: number.optional(),
  }),
  quotes: z.strictObject({ customer_id: id, valid_until: date.optional(), items }),
  tickets: z.strictObject({
    customer_id: id.optional(),
    subject: filled,
    message: text.optional(),
    department_id: id.optional(),
    priority: text.optional(),
  }),
  leads: z
    .strictObject({
      first_name: text.optional(),
      last_name: text.optional(),
      email: email.optional(),
      company: text.optional(),
      phone: text.optional(),
      source: text.optional(),
    })
    .refine(
      ({ first_name, last_name, company, email, phone }) =>
        [first_name, last_name, company, email, phone].some(who => who?.trim()),
      'must hold a name, a company, an e-mail address or a phone number',
    ),
  users: z.strictObject({ name: filled, email, password: filled, role: text.optional() }),
  webhooks: z.strictObject({
    url: text.refine(value => URL.canParse(value) && value.startsWith('https://'), 'must be an https:// address'),
    events: z.array(filled, says('must be a list of event kinds')).min(1, 'must hold at least one event kind'),
  }),
} as const;

/** The name of a create body. */
export type Creatable = keyof typeof createBodies;

/** PUT of a customer: the same fields. That those left out stay as they are is likely, and not shown. */
export const customerChanges = createBodies.customers.partial();

/** One customer of a batch: only these two fields are documented there. */
export const batchEntry = createBodies.customers.pick({ account: true, email: true });

/** POST of a batch. How many entries it may hold is not shown. */
export const batchBody = z.strictObject({
  customers: z.array(batchEntry, says('must be a list of customers')).min(1, 'must hold at least one customer'),
});

/** What is wrong by field, in words that follow the field's name; for the body as a whole under `body`. */
export function bodyProblems(error: z.ZodError): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const issue of error.issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) problems[[...issue.path, key].join('.')] ??= "is not a field of the API's document";
    } else {
      const notAnObject = issue.code === 'invalid_type' && issue.expected === 'object';
      problems[issue.path.join('.') || 'body'] ??= notAnObject ? 'must be an object' : issue.message;
    }
  }
  return problems;
}
