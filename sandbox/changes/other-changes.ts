import type { Data } from '../data/data.ts';
import { randomItems } from '../data/generate-invoices.ts';
import {
  randomOrder,
  randomProduct,
  randomQuote,
  randomSupplier,
  randomTicket,
  randomUser,
  ticketStates,
} from '../data/generate-small-lists.ts';
import type { Random } from '../data/random.ts';
import type { Rows } from '../data/rows.ts';
import { notes } from '../data/sample-texts.ts';
import type { Edits } from './edits.ts';
import {
  type ApplyChange,
  type ChangeContext,
  type ChangeMaker,
  type ChangeOf,
  changeRandomRow,
  createChangeMaker,
  differentDate,
  removeRandomRow,
  today,
} from './random-change.ts';

type OtherResource = 'products' | 'quotes' | 'tickets' | 'users' | 'orders' | 'suppliers' | 'purchases';

/** Changes of the lists other than customers, invoices and transactions. *Moved*: given another status or department. */
export const otherChangeKinds = [
  'product-new',
  'product-edited',
  'product-deleted',
  'quote-new',
  'quote-edited',
  'quote-deleted',
  'ticket-new',
  'ticket-edited',
  'ticket-moved',
  'ticket-deleted',
  'user-new',
  'user-edited',
  'user-deleted',
  'order-new',
  'order-edited',
  'order-deleted',
  'supplier-new',
  'supplier-edited',
  'supplier-deleted',
  'purchase-new',
  'purchase-edited',
  'purchase-deleted',
] as const;

export type OtherChangeKind = (typeof otherChangeKinds)[number];

export type OtherChange = ChangeOf<OtherChangeKind, OtherResource>;

/** All kinds are equally frequent. `random` is a sequence of its own: these changes must not alter the main ones of a seed. */
export function createOtherChanges(
  data: Data,
  edits: Edits,
  random: Random,
): ChangeMaker<OtherChangeKind, OtherResource> {
  return createChangeMaker({ data, edits, random }, apply, otherChangeKinds);
}

const apply: Record<OtherChangeKind, ApplyChange> = {
  'product-new': context => context.edits.insert('products', randomProduct(context.random)).id,
  'product-edited': context =>
    changeRandomRow(context, 'products', row =>
      context.edits.update('products', row.id, {
        price: differentAmount(context, row.price),
        description: context.random.pick(notes),
      }),
    ),
  'product-deleted': context => removeRandomRow(context, 'products'),
  'quote-new': context => context.edits.insert('quotes', newQuote(context)).id,
  'quote-edited': context =>
    changeRandomRow(context, 'quotes', row =>
      context.edits.update('quotes', row.id, {
        items: randomItems(context.random),
        valid_until: differentDate(context, row.valid_until),
      }),
    ),
  'quote-deleted': context => removeRandomRow(context, 'quotes'),
  'ticket-new': context => context.edits.insert('tickets', randomTicket(context.random, customerIds(context))).id,
  'ticket-edited': context =>
    changeRandomRow(context, 'tickets', row =>
      context.edits.update('tickets', row.id, {
        message: context.random.pick(notes),
        priority: context.random.pick(['Low', 'Medium', 'High'].filter(priority => priority !== row.priority)),
      }),
    ),
  'ticket-moved': context =>
    changeRandomRow(context, 'tickets', row =>
      context.random.chance(0.7)
        ? context.edits.update('tickets', row.id, {
            status: context.random.pick(ticketStates.filter(state => state !== row.status)),
          })
        : context.edits.update('tickets', row.id, { department_id: (row.department_id % 5) + 1 }),
    ),
  'ticket-deleted': context => removeRandomRow(context, 'tickets'),
  'user-new': context => context.edits.insert('users', randomUser(context.random, context.data.users.nextId - 1)).id,
  'user-edited': context =>
    changeRandomRow(context, 'users', row =>
      context.edits.update('users', row.id, { role: row.role === 'staff' ? 'accountant' : 'staff' }),
    ),
  'user-deleted': context => removeRandomRow(context, 'users'),
  'order-new': context => newOrder(context, 'orders', 'SO'),
  'order-edited': context => editOrder(context, 'orders'),
  'order-deleted': context => removeRandomRow(context, 'orders'),
  'supplier-new': context =>
    context.edits.insert('suppliers', randomSupplier(context.random, context.data.suppliers.nextId - 1)).id,
  'supplier-edited': context =>
    changeRandomRow(context, 'suppliers', row =>
      context.edits.update('suppliers', row.id, { email: row.email === null ? `new${row.id}@example.com` : null }),
    ),
  'supplier-deleted': context => removeRandomRow(context, 'suppliers'),
  'purchase-new': context => newOrder(context, 'purchases', 'PO'),
  'purchase-edited': context => editOrder(context, 'purchases'),
  'purchase-deleted': context => removeRandomRow(context, 'purchases'),
};

function newQuote(context: ChangeContext): Omit<Rows['quotes'], 'id'> {
  return randomQuote(context.random, customerIds(context), today(context));
}

function newOrder(context: ChangeContext, resource: 'orders' | 'purchases', prefix: string): number {
  const index = context.data[resource].nextId - 1;
  return context.edits.insert(resource, randomOrder(context.random, prefix, index, today(context))).id;
}

function editOrder(context: ChangeContext, resource: 'orders' | 'purchases'): number | undefined {
  return changeRandomRow(context, resource, row =>
    context.edits.update(resource, row.id, {
      total: differentAmount(context, row.total),
      placed_on: differentDate(context, row.placed_on),
    }),
  );
}

function differentAmount({ random }: ChangeContext, amount: unknown): number {
  const other = random.int(1, 500_000) / 100;
  return other === amount ? other + 1 : other;
}

function customerIds({ data: { customers } }: ChangeContext): Int32Array {
  return customers.select({}).map(position => customers.columns.ids[position] as number);
}
