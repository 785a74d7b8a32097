import { z } from 'zod';
import { didYouMean } from '../../nearest-name.ts';
import { exactNumber } from '../answers/json.ts';

/**
 * The bodies of the create endpoints, with the fields that the API's document lists. The document does not say which are required: only
 * fields without which the record makes no sense are required here, and the source may refuse more. A field outside the document is an
 * error. Numbers and ids may also be decimal text, as in answers and CSV files.
 */

const orMissing = (problem: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is missing' : problem),
});

const text = z.string(orMissing('must be text'));
const filled = text.refine(value => value.trim() !== '', 'must not be empty');
/** The least an address has: the source has its own rule, and letters beyond ASCII are legal. */
const email = text.regex(/^[^\s@]+@[^\s@]+\.[^\s@.]+$/u, 'must be an e-mail address such as ann@example.com');
const date = z.iso.date(orMissing('must be a date such as 2026-01-15'));

/** Sent as a JSON number: text that a double would round is refused, not rounded. */
const number = z
  .union([z.number(), z.string()], orMissing('must be a number such as 1500.5'))
  .transform((value, context) => {
    if (typeof value === 'number') return value;
    const digits = value.trim();
    const exact = /^-?\d+(?:\.\d+)?$/.test(digits) ? exactNumber(digits) : undefined;
    if (typeof exact === 'number') return exact;
    const problem =
      exact === undefined ? 'must be a number such as 1500.5' : 'has more digits than can be sent exactly';
    context.addIssue({ code: 'custom', message: problem, input: value });
    return z.NEVER;
  });
const amount = number.refine(value => value > 0, 'must be greater than 0');
const id = number.refine(value => Number.isSafeInteger(value) && value > 0, 'must be a whole number greater than 0');

const item = z.strictObject({ description: text.optional(), amount: number, qty: number.optional() });
const items = z.array(item, orMissing('must be a list of items')).min(1, 'must hold at least one item');

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
  invoices: z.strictObject({ customer_id: id, date, due_date: date.optional(), items, notes: text.optional() }),
  transactions: z.strictObject({
    type: z.enum(['Income', 'Expense'], orMissing('must be Income or Expense')),
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
    /** `service` for a service; the document shows no other value. */
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
    events: z.array(filled, orMissing('must be a list of event kinds')).min(1, 'must hold at least one event kind'),
  }),
} as const;

/** PUT of a customer takes the same fields. The document does not say that omitted fields stay unchanged, but it is likely. */
export const customerChanges = createBodies.customers.partial();

/** One customer of a batch: the document shows only these two fields. */
export const batchEntry = createBodies.customers.pick({ account: true, email: true });

/** POST of a batch. The document does not show how many entries it may hold. */
export const batchBody = z.strictObject({
  customers: z.array(batchEntry, orMissing('must be a list of customers')).min(1, 'must hold at least one customer'),
});

/**
 * The problems by field, worded to follow the field's name; those of the input as a whole are under `body`. `known`: the fields of the
 * body, to suggest one for an unknown field.
 */
export function fieldProblems(error: z.ZodError, known: readonly string[] = []): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const issue of error.issues) {
    if (issue.code === 'unrecognized_keys') {
      const names = issue.path.length === 0 ? known : [];
      for (const key of issue.keys)
        problems[[...issue.path, key].join('.')] ??= `is not a field of the API's document${didYouMean(key, names)}`;
    } else {
      const notAnObject = issue.code === 'invalid_type' && issue.expected === 'object';
      problems[issue.path.join('.') || 'body'] ??= notAnObject ? 'must be an object' : issue.message;
    }
  }
  return problems;
}
