import { SECOND } from '../../clock.ts';
import { dateOf, stampOf } from '../data/calendar.ts';
import type { Data } from '../data/data.ts';
import { someItems, sumOf } from '../data/generate-invoices.ts';
import type { Random } from '../data/random.ts';
import type { Rows } from '../data/rows.ts';
import { firstNames, lastNames, notes, payments, places, trades } from '../data/sample-texts.ts';
import type { Edits } from './edits.ts';
import { befall, otherDate, type Scene, somePosition, today } from './random-change.ts';

/** What can happen at a source. *Backdated*: new with an old date; *moved*: given another date. */
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

export interface Change {
  kind: ChangeKind;
  resource: 'customers' | 'invoices' | 'transactions';
  id: number;
  /** The source's time, in milliseconds since the epoch. */
  at: number;
}

/** How often each kind comes in mixed changes: mostly new rows and payments, sometimes the nasty ones. */
const mixed: readonly (readonly [ChangeKind, number])[] = [
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

export interface Changes {
  /** Makes one change; undefined when there is no row left that it could befall. */
  make(kind: ChangeKind, at: number): Change | undefined;
  makeMixed(at: number): Change | undefined;
}

export function createChanges(data: Data, edits: Edits, random: Random): Changes {
  const hat = mixed.flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind));
  const make = (kind: ChangeKind, at: number): Change | undefined => {
    const resource = `${kind.slice(0, kind.indexOf('-'))}s` as Change['resource'];
    const id = effects[kind]({ data, edits, random, at });
    return id === undefined ? undefined : { kind, resource, id, at };
  };
  return { make, makeMixed: at => make(random.pick(hat), at) };
}

const effects: Record<ChangeKind, (scene: Scene) => number | undefined> = {
  'customer-new': scene => scene.edits.insert('customers', newCustomer(scene)).id,
  'customer-edited': scene =>
    befall(scene, 'customers', row =>
      scene.edits.update('customers', row.id, { phone: newPhone(scene.random), ...someTown(scene) }),
    ),
  'customer-deleted': scene => befall(scene, 'customers', row => scene.edits.remove('customers', row.id)),
  'invoice-new': scene => scene.edits.insert('invoices', newInvoice(scene, 0)).id,
  'invoice-paid': scene => pay(scene),
  'invoice-edited': scene =>
    befall(scene, 'invoices', row => {
      const items = someItems(scene.random);
      scene.edits.update('invoices', row.id, { items, amount: sumOf(items), notes: scene.random.pick(notes) });
    }),
  'invoice-backdated': scene => scene.edits.insert('invoices', newInvoice(scene, scene.random.int(40, 2000))).id,
  'invoice-moved': scene =>
    befall(scene, 'invoices', row => scene.edits.update('invoices', row.id, { date: otherDate(scene, row.date) })),
  'invoice-deleted': scene => befall(scene, 'invoices', row => scene.edits.remove('invoices', row.id)),
  'transaction-new': scene => scene.edits.insert('transactions', newTransaction(scene, 0)).id,
  'transaction-edited': scene =>
    befall(scene, 'transactions', row =>
      scene.edits.update('transactions', row.id, {
        amount: newAmount(scene.random),
        category_id: scene.random.int(1, 40),
      }),
    ),
  'transaction-backdated': scene =>
    scene.edits.insert('transactions', newTransaction(scene, scene.random.int(40, 2000))).id,
  'transaction-moved': scene =>
    befall(scene, 'transactions', row =>
      scene.edits.update('transactions', row.id, { date: otherDate(scene, row.date) }),
    ),
  'transaction-deleted': scene => befall(scene, 'transactions', row => scene.edits.remove('transactions', row.id)),
};

function pay({ data, edits, random }: Scene): number | undefined {
  const unpaid = data.invoices.select({ state: 'Unpaid' });
  const partly = data.invoices.select({ state: 'Partially Paid' });
  if (unpaid.length + partly.length === 0) return undefined;
  const index = random.int(0, unpaid.length + partly.length - 1);
  const position = (index < unpaid.length ? unpaid[index] : partly[index - unpaid.length]) as number;
  const { id, status } = data.invoices.at(position);
  edits.update('invoices', id, { status: status === 'Unpaid' && random.chance(0.3) ? 'Partially Paid' : 'Paid' });
  return id;
}

function newCustomer(scene: Scene): Omit<Rows['customers'], 'id'> {
  const { random, at } = scene;
  const stamp = stampOf(Math.floor(at / SECOND));
  const account = `${random.pick(firstNames)} ${random.pick(lastNames)} ${random.pick(trades)}`;
  const email = `new${random.int(1, 1_000_000)}@example.com`;
  const address = `${random.int(1, 250)} New Street`;
  return { account, email, phone: newPhone(random), address, ...someTown(scene), created_at: stamp, updated_at: stamp };
}

function newInvoice(scene: Scene, daysAgo: number): Omit<Rows['invoices'], 'id'> {
  const { data, random } = scene;
  const items = someItems(random);
  const customer = somePosition(scene, 'customers');
  const day = today(scene) - daysAgo;
  return {
    invoice_number: `INV-${String(data.invoices.nextId).padStart(6, '0')}`,
    customer_id: customer === undefined ? 1 : data.customers.at(customer).id,
    date: dateOf(day),
    due_date: dateOf(day + 30),
    amount: sumOf(items),
    status: 'Unpaid',
    items,
    notes: random.pick(notes),
  };
}

function newTransaction(scene: Scene, daysAgo: number): Omit<Rows['transactions'], 'id'> {
  const { random } = scene;
  return {
    type: random.pick(['Income', 'Expense']),
    account_id: random.int(1, 12),
    category_id: random.int(1, 40),
    amount: newAmount(random),
    description: random.pick(payments),
    date: dateOf(today(scene) - daysAgo),
  };
}

function newAmount(random: Random): number {
  return random.int(1, 500_000) / 100;
}

function newPhone(random: Random): string {
  return `+${random.int(1, 99)} ${random.int(1_000_000, 9_999_999)}`;
}

function someTown({ random }: Scene) {
  const [city, state, zip, country] = random.pick(places);
  return { city, state, zip, country };
}
