import { dateOf, NO_DAY } from './calendar.ts';
import { createRandom, mix, type Random } from './random.ts';
import type { Amount, Invoice, Item } from './rows.ts';
import { goods, notes } from './sample-texts.ts';
import { spreadDay, spreadIds } from './spread.ts';
import { type Columns, newColumns } from './table.ts';

const SALT = 0x1417;

export const documentedInvoiceStates = ['Paid', 'Unpaid', 'Partially Paid'] as const;
/** The others exist only where the variant `states` says so. */
export const invoiceStates = [...documentedInvoiceStates, 'Draft', 'Void', 'Cancelled'] as const;

export interface InvoiceTraits {
  moreStates: boolean;
  undated: boolean;
  /** Some amounts have more digits than a double holds. */
  beyondDouble: boolean;
}

export function invoiceColumns(
  count: number,
  seed: number,
  today: number,
  customerIds: Int32Array,
  traits: InvoiceTraits,
): Columns {
  const random = createRandom(mix(seed, SALT));
  const columns = newColumns(count);
  spreadIds(columns.ids, random);
  const openness = opennessFor(count);
  for (let index = 0; index < count; index += 1) {
    const day = spreadDay(index, count, today, random);
    columns.days[index] = traits.undated && random.chance(0.02) ? NO_DAY : day;
    columns.states[index] = stateAtAge(Math.max(0, today - day), openness, traits.moreStates, random);
    columns.owners[index] = someCustomer(customerIds, random);
    columns.changed[index] = Math.min(day, today) * 86_400;
  }
  return columns;
}

/** Makes the invoice at a position of the columns, the same one each time. */
export function invoiceMaker(seed: number, columns: Columns, traits: InvoiceTraits): (position: number) => Invoice {
  const random = createRandom(seed);
  return position => {
    random.restart(mix(mix(seed, SALT), columns.ids[position] as number));
    return makeInvoice(columns, position, random, traits);
  };
}

function makeInvoice(columns: Columns, position: number, random: Random, traits: InvoiceTraits): Invoice {
  const id = columns.ids[position] as number;
  const day = columns.days[position] as number;
  const items = someItems(random);
  return {
    id,
    invoice_number: `INV-${String(id).padStart(6, '0')}`,
    customer_id: columns.owners[position] as number,
    date: day === NO_DAY ? null : dateOf(day),
    due_date: day === NO_DAY || random.chance(0.01) ? null : dateOf(day + random.pick([0, 14, 14, 30, 30, 30, 60])),
    amount: someAmount(items, id, random, traits),
    status: invoiceStates[columns.states[position] as number] as string,
    items,
    notes: random.chance(0.6) ? random.pick(['', null]) : random.pick(notes),
  };
}

/** 1 to 5 lines, in three of a hundred invoices up to 60. */
export function someItems(random: Random): Item[] {
  const lines = random.chance(0.03) ? random.int(6, 60) : random.int(1, 5);
  return Array.from({ length: lines }, () => ({
    description: random.chance(0.01) ? random.pick(['', null]) : random.pick(goods),
    amount: random.int(1, 200_000) / 100,
    qty: random.chance(0.05) ? random.int(1, 40) / 4 : random.int(1, 12),
  }));
}

/** What the lines come to, in whole cents. */
export function sumOf(items: readonly Item[]): number {
  return items.reduce((cents, item) => cents + Math.round(Number(item.amount) * item.qty * 100), 0) / 100;
}

function someAmount(items: readonly Item[], id: number, random: Random, traits: InvoiceTraits): Amount {
  const net = sumOf(items);
  const amount = random.chance(0.1) ? Math.round(net * 120) / 100 : net;
  if (traits.beyondDouble && id % 50 === 1) return `9007199254740993.${String(id % 100).padStart(2, '0')}`;
  return id % 97 === 5 ? Number(`${Math.floor(amount)}.12345678`) : amount;
}

/** Most invoices are someone's; one in a thousand names a customer that is not there. */
export function someCustomer(customerIds: Int32Array, random: Random): number {
  const last = customerIds.at(-1) ?? 0;
  if (customerIds.length === 0 || random.chance(0.001)) return last + 100_000 + random.int(1, 1000);
  // The product of two draws: some customers have hundreds of invoices, many have none.
  return customerIds[Math.floor(random.next() * random.next() * customerIds.length)] as number;
}

interface Openness {
  newest: number;
  halvingDays: number;
}

/** Big installations pay faster: about 10% of a small one's invoices are open, 3% of an extreme one's. */
function opennessFor(count: number): Openness {
  if (count <= 2_000) return { newest: 0.9, halvingDays: 165 };
  if (count <= 20_000) return { newest: 0.85, halvingDays: 140 };
  if (count <= 100_000) return { newest: 0.7, halvingDays: 105 };
  return { newest: 0.6, halvingDays: 66 };
}

function stateAtAge(age: number, { newest, halvingDays }: Openness, more: boolean, random: Random): number {
  if (more && random.chance(0.03)) return random.int(3, 5);
  const fade = 1 + age / halvingDays;
  if (random.next() >= newest / (fade * fade)) return 0;
  return random.chance(0.75) ? 1 : 2;
}
