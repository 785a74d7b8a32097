import type { Random } from '../../../sandbox/data/random.ts';
import type { BadDay } from '../../../sandbox/faults/bad-days.ts';
import type { TestResource } from '../../support/resources.ts';

type Place = Omit<BadDay, 'kind'> & { readonly resource: TestResource };

const LOST: readonly Place[] = [
  { resource: 'invoices', field: 'amount' },
  { resource: 'customers', field: 'email' },
];
const LINES: readonly Place[] = [{ resource: 'invoices', field: 'items' }];
const NAMES: readonly Place[] = [
  { resource: 'customers', field: 'account' },
  { resource: 'transactions', field: 'description' },
  { resource: 'products', field: 'name' },
];
const AMOUNTS: readonly Place[] = [
  { resource: 'invoices', field: 'amount' },
  { resource: 'transactions', field: 'amount' },
  { resource: 'products', field: 'price' },
  { resource: 'invoices', field: 'items.amount' },
];

/**
 * Where each kind of bad day may show, as lists and fields that it alters in most rows. Lists with fields of their own, orders and the like,
 * are stored whole; users and suppliers have too few rows for a rewrite to be noticed.
 */
const PLACES: Readonly<Record<BadDay['kind'], readonly Place[]>> = {
  renamed: LOST,
  vanished: LOST,
  nulled: LOST,
  emptied: LOST,
  'half-nulled': LOST,
  'items-empty': LINES,
  'items-omitted': LINES,
  zeroed: AMOUNTS,
  scaled: AMOUNTS.flatMap(place => [100, 1000, 0.01].map(constant => ({ ...place, constant }))),
  masked: [
    { resource: 'customers', field: 'email' },
    { resource: 'customers', field: 'account', constant: 'xxxxx' },
    { resource: 'transactions', field: 'description' },
  ],
  flipped: [
    { resource: 'invoices', field: 'status', constant: 'Unpaid' },
    { resource: 'invoices', field: 'status', constant: 'Draft' },
    { resource: 'transactions', field: 'type', constant: 'Expense' },
    { resource: 'transactions', field: 'type', constant: 'Income' },
    { resource: 'tickets', field: 'status', constant: 'Closed' },
  ],
  shifted: [-1, 1].flatMap(constant => [
    { resource: 'invoices' as const, field: 'due_date', constant },
    { resource: 'invoices' as const, field: 'date', constant },
    { resource: 'transactions' as const, field: 'date', constant },
    { resource: 'quotes' as const, field: 'valid_until', constant },
    { resource: 'customers' as const, field: 'created_at', constant },
  ]),
  // Half of these texts and more have other than ASCII characters.
  'mis-encoded': [...NAMES, { resource: 'customers', field: 'address' }, { resource: 'invoices', field: 'notes' }],
  truncated: [
    ...NAMES.flatMap(place => [3, 6].map(constant => ({ ...place, constant }))),
    { resource: 'customers', field: 'email', constant: 12 },
    { resource: 'invoices', field: 'invoice_number', constant: 8 },
  ],
  swapped: [...NAMES, ...AMOUNTS],
  // Its fields are all but the id.
  'other-tenant': [
    { resource: 'customers', field: 'account' },
    { resource: 'products', field: 'name' },
    { resource: 'quotes', field: 'customer_id' },
    { resource: 'invoices', field: 'amount' },
    { resource: 'transactions', field: 'amount' },
  ],
};

/** Of a list that is read. All kinds are equally likely, and so are the places of a kind. */
export function chooseBadDay(random: Random, read: readonly TestResource[]): BadDay {
  const kinds = Object.keys(PLACES) as BadDay['kind'][];
  const placesOf = (kind: BadDay['kind']) => PLACES[kind].filter(({ resource }) => read.includes(resource));
  const kind = random.pick(kinds.filter(each => placesOf(each).length > 0));
  return { kind, ...random.pick(placesOf(kind)) };
}
