import { SECOND } from '../../src/clock.ts';
import { dateOf, stampOf } from '../data/calendar.ts';
import type { Data } from '../data/data.ts';
import { randomItems, totalOf } from '../data/generate-invoices.ts';
import type { Random } from '../data/random.ts';
import type { Rows } from '../data/rows.ts';
import { firstNames, lastNames, notes, payments, places, trades } from '../data/sample-texts.ts';
import type { Edits } from './edits.ts';
import {
  type ApplyChange,
  type ChangeContext,
  type ChangeMaker,
  type ChangeOf,
  changeRandomRow,
  createChangeMaker,
  differentDate,
  randomPosition,
  removeRandomRow,
  today,
} from './random-change.ts';

/** Changes of customers, invoices and transactions. *Backdated*: new with an old date. *Moved*: given another date. */
export const changeKinds = [
  'customer-new',
  'customer-edited',
  'customer-deleted',
  'invoice-new',
  'invoice-paid',
  'invoice-edited',
  'invoice-backdated',
  'invoice-moved',
  'invoice-deleted',
  'transaction-new',
  'transaction-edited',
  'transaction-backdated',
  'transaction-moved',
  'transaction-deleted',
] as const;

export type ChangeKind = (typeof changeKinds)[number];

type MainResource = 'customers' | 'invoices' | 'transactions';

export type Change = ChangeOf<ChangeKind, MainResource>;

/** Relative frequencies: mostly new rows and payments, occasionally the changes that are hard to detect. */
const weights: readonly (readonly [ChangeKind, number])[] = [
  ['customer-new', 8],
  ['customer-edited', 8],
  ['customer-deleted', 1],
  ['invoice-new', 18],
  ['invoice-paid', 16],
  ['invoice-edited', 5],
  ['invoice-backdated', 2],
  ['invoice-moved', 2],
  ['invoice-deleted', 2],
  ['transaction-new', 28],
  ['transaction-edited', 4],
  ['transaction-backdated', 3],
  ['transaction-moved', 2],
  ['transaction-deleted', 1],
];

export function createMainChanges(data: Data, edits: Edits, random: Random): ChangeMaker<ChangeKind, MainResource> {
  const pool = weights.flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind));
  return createChangeMaker({ data, edits, random }, apply, pool);
}

const apply: Record<ChangeKind, ApplyChange> = {
  'customer-new': context => context.edits.insert('customers', newCustomer(context)).id,
  'customer-edited': context =>
    changeRandomRow(context, 'customers', row =>
      context.edits.update('customers', row.id, { phone: randomPhone(context.random), ...randomPlace(context) }),
    ),
  'customer-deleted': context => removeRandomRow(context, 'customers'),
  'invoice-new': context => context.edits.insert('invoices', newInvoice(context, 0)).id,
  'invoice-paid': payInvoice,
  'invoice-edited': context =>
    changeRandomRow(context, 'invoices', row => {
      const items = randomItems(context.random);
      context.edits.update('invoices', row.id, { items, amount: totalOf(items), notes: context.random.pick(notes) });
    }),
  'invoice-backdated': context =>
    context.edits.insert('invoices', newInvoice(context, context.random.int(40, 2000))).id,
  'invoice-moved': context =>
    changeRandomRow(context, 'invoices', row =>
      context.edits.update('invoices', row.id, { date: differentDate(context, row.date) }),
    ),
  'invoice-deleted': context => removeRandomRow(context, 'invoices'),
  'transaction-new': context => context.edits.insert('transactions', newTransaction(context, 0)).id,
  'transaction-edited': context =>
    changeRandomRow(context, 'transactions', row =>
      context.edits.update('transactions', row.id, {
        amount: randomAmount(context.random),
        category_id: context.random.int(1, 40),
      }),
    ),
  'transaction-backdated': context =>
    context.edits.insert('transactions', newTransaction(context, context.random.int(40, 2000))).id,
  'transaction-moved': context =>
    changeRandomRow(context, 'transactions', row =>
      context.edits.update('transactions', row.id, { date: differentDate(context, row.date) }),
    ),
  'transaction-deleted': context => removeRandomRow(context, 'transactions'),
};

function payInvoice({ data, edits, random }: ChangeContext): number | undefined {
  const unpaid = data.invoices.select({ state: 'Unpaid' });
  const partly = data.invoices.select({ state: 'Partially Paid' });
  if (unpaid.length + partly.length === 0) return undefined;
  const index = random.int(0, unpaid.length + partly.length - 1);
  const position = (index < unpaid.length ? unpaid[index] : partly[index - unpaid.length]) as number;
  const { id, status } = data.invoices.at(position);
  edits.update('invoices', id, { status: status === 'Unpaid' && random.chance(0.3) ? 'Partially Paid' : 'Paid' });
  return id;
}

function newCustomer(context: ChangeContext): Omit<Rows['customers'], 'id'> {
  const { random, at } = context;
  const stamp = stampOf(Math.floor(at / SECOND));
  const account = `${random.pick(firstNames)} ${random.pick(lastNames)} ${random.pick(trades)}`;
  const email = `new${random.int(1, 1_000_000)}@example.com`;
  const address = `${random.int(1, 250)} New Street`;
  return {
    account,
    email,
    phone: randomPhone(random),
    address,
    ...randomPlace(context),
    created_at: stamp,
    updated_at: stamp,
  };
}

function newInvoice(context: ChangeContext, daysAgo: number): Omit<Rows['invoices'], 'id'> {
  const { data, random } = context;
  const items = randomItems(random);
  const customer = randomPosition(context, 'customers');
  const day = today(context) - daysAgo;
  return {
    invoice_number: `INV-${String(data.invoices.nextId).padStart(6, '0')}`,
    customer_id: customer === undefined ? 1 : data.customers.at(customer).id,
    date: dateOf(day),
    due_date: dateOf(day + 30),
    amount: totalOf(items),
    status: 'Unpaid',
    items,
    notes: random.pick(notes),
  };
}

function newTransaction(context: ChangeContext, daysAgo: number): Omit<Rows['transactions'], 'id'> {
  const { random } = context;
  return {
    type: random.pick(['Income', 'Expense']),
    account_id: random.int(1, 12),
    category_id: random.int(1, 40),
    amount: randomAmount(random),
    description: random.pick(payments),
    date: dateOf(today(context) - daysAgo),
  };
}

function randomAmount(random: Random): number {
  return random.int(1, 500_000) / 100;
}

function randomPhone(random: Random): string {
  return `+${random.int(1, 99)} ${random.int(1_000_000, 9_999_999)}`;
}

function randomPlace({ random }: ChangeContext) {
  const [city, state, zip, country] = random.pick(places);
  return { city, state, zip, country };
}
