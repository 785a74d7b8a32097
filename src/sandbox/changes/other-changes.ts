import type { Data } from '../data/data.ts';
import { someItems } from '../data/generate-invoices.ts';
import {
  someOrder,
  someProduct,
  someQuote,
  someSupplier,
  someTicket,
  someUser,
  ticketStates,
} from '../data/generate-small-lists.ts';
import type { Random } from '../data/random.ts';
import type { Rows } from '../data/rows.ts';
import { notes } from '../data/sample-texts.ts';
import type { Edits } from './edits.ts';
import { befall, otherDate, type Scene, today } from './random-change.ts';

type OtherResource = 'products' | 'quotes' | 'tickets' | 'users' | 'orders' | 'suppliers' | 'purchases';

/** What can happen on the lists beside customers, invoices and transactions. *Moved*: a ticket in another status or department. */
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

export interface OtherChange {
  kind: OtherChangeKind;
  resource: OtherResource;
  id: number;
  /** The source's time, in milliseconds since the epoch. */
  at: number;
}

export interface OtherChanges {
  /** Makes one change; undefined when there is no row left that it could befall. */
  make(kind: OtherChangeKind, at: number): OtherChange | undefined;
  makeMixed(at: number): OtherChange | undefined;
}

/** They draw from a stream of their own, so that the changes of the three great lists stay as they were under each seed. */
export function createOtherChanges(data: Data, edits: Edits, random: Random): OtherChanges {
  const make = (kind: OtherChangeKind, at: number): OtherChange | undefined => {
    const resource = `${kind.slice(0, kind.indexOf('-'))}s` as OtherResource;
    const id = effects[kind]({ data, edits, random, at });
    return id === undefined ? undefined : { kind, resource, id, at };
  };
  return { make, makeMixed: at => make(random.pick(otherChangeKinds), at) };
}

const effects: Record<OtherChangeKind, (scene: Scene) => number | undefined> = {
  'product-new': scene => scene.edits.insert('products', someProduct(scene.random)).id,
  'product-edited': scene =>
    befall(scene, 'products', row =>
      scene.edits.update('products', row.id, {
        price: otherAmount(scene, row.price),
        description: scene.random.pick(notes),
      }),
    ),
  'product-deleted': scene => vanish(scene, 'products'),
  'quote-new': scene => scene.edits.insert('quotes', newQuote(scene)).id,
  'quote-edited': scene =>
    befall(scene, 'quotes', row =>
      scene.edits.update('quotes', row.id, {
        items: someItems(scene.random),
        valid_until: otherDate(scene, row.valid_until),
      }),
    ),
  'quote-deleted': scene => vanish(scene, 'quotes'),
  'ticket-new': scene => scene.edits.insert('tickets', someTicket(scene.random, customerIds(scene))).id,
  'ticket-edited': scene =>
    befall(scene, 'tickets', row =>
      scene.edits.update('tickets', row.id, {
        message: scene.random.pick(notes),
        priority: scene.random.pick(['Low', 'Medium', 'High'].filter(priority => priority !== row.priority)),
      }),
    ),
  'ticket-moved': scene =>
    befall(scene, 'tickets', row =>
      scene.random.chance(0.7)
        ? scene.edits.update('tickets', row.id, {
            status: scene.random.pick(ticketStates.filter(state => state !== row.status)),
          })
        : scene.edits.update('tickets', row.id, { department_id: (row.department_id % 5) + 1 }),
    ),
  'ticket-deleted': scene => vanish(scene, 'tickets'),
  'user-new': scene => scene.edits.insert('users', someUser(scene.random, scene.data.users.nextId - 1)).id,
  'user-edited': scene =>
    befall(scene, 'users', row =>
      scene.edits.update('users', row.id, { role: row.role === 'staff' ? 'accountant' : 'staff' }),
    ),
  'user-deleted': scene => vanish(scene, 'users'),
  'order-new': scene => newOrder(scene, 'orders', 'SO'),
  'order-edited': scene => editOrder(scene, 'orders'),
  'order-deleted': scene => vanish(scene, 'orders'),
  'supplier-new': scene =>
    scene.edits.insert('suppliers', someSupplier(scene.random, scene.data.suppliers.nextId - 1)).id,
  'supplier-edited': scene =>
    befall(scene, 'suppliers', row =>
      scene.edits.update('suppliers', row.id, { email: row.email === null ? `new${row.id}@example.com` : null }),
    ),
  'supplier-deleted': scene => vanish(scene, 'suppliers'),
  'purchase-new': scene => newOrder(scene, 'purchases', 'PO'),
  'purchase-edited': scene => editOrder(scene, 'purchases'),
  'purchase-deleted': scene => vanish(scene, 'purchases'),
};

function vanish(scene: Scene, resource: OtherResource): number | undefined {
  return befall(scene, resource, row => scene.edits.remove(resource, row.id));
}

function newQuote(scene: Scene): Omit<Rows['quotes'], 'id'> {
  return someQuote(scene.random, customerIds(scene), today(scene));
}

function newOrder(scene: Scene, resource: 'orders' | 'purchases', prefix: string): number {
  const index = scene.data[resource].nextId - 1;
  return scene.edits.insert(resource, someOrder(scene.random, prefix, index, today(scene))).id;
}

function editOrder(scene: Scene, resource: 'orders' | 'purchases'): number | undefined {
  return befall(scene, resource, row =>
    scene.edits.update(resource, row.id, {
      total: otherAmount(scene, row.total),
      placed_on: otherDate(scene, row.placed_on),
    }),
  );
}

function otherAmount({ random }: Scene, amount: unknown): number {
  const other = random.int(1, 500_000) / 100;
  return other === amount ? other + 1 : other;
}

function customerIds({ data: { customers } }: Scene): Int32Array {
  return customers.select({}).map(position => customers.columns.ids[position] as number);
}
