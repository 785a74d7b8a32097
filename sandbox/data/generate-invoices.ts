import { dateOf, NO_DAY } from './calendar.ts';
import { type Columns, newColumns } from './columns.ts';
import { createRandom, mix, type Random } from './random.ts';
import type { Amount, Invoice, Item } from './rows.ts';
import { goods, notes } from './sample-texts.ts';
import { farDay, spreadDay, spreadIds } from './spread.ts';

const SALT = 0x1417;

export const documentedInvoiceStates = ['Paid', 'Unpaid', 'Partially Paid'] as const;
/** The others occur only under the variant states=more. */
export const invoiceStates = [...documentedInvoiceStates, 'Draft', 'Void', 'Cancelled'] as const;

export interface InvoiceTraits {
  moreStates: boolean;
  undated: boolean;
  /** Some amounts have more digits than a double holds. */
  beyondDouble: boolean;
  farDates: boolean;
  datesInOrder?: boolean;
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
  const openShare = openShareFor(count);
  for (let index = 0; index < count; index += 1) {
    const day = spreadDay(index, count, today, random, traits.datesInOrder);
    const listed = traits.undated && random.chance(0.02) ? NO_DAY : day;
    columns.days[index] = (traits.farDates ? farDay(index) : null) ?? listed;
    columns.states[index] = randomStateIndex(Math.max(0, today - day), openShare, traits.moreStates, random);
    columns.owners[index] = randomCustomerId(customerIds, random);
    columns.changed[index] = Math.min(day, today) * 86_400;
  }
  return columns;
}

/** Generates the invoice at a position; the same one on every call. */
export function invoiceGenerator(seed: number, columns: Columns, traits: InvoiceTraits): (position: number) => Invoice {
  const random = createRandom(seed);
  return position => {
    random.reseed(mix(mix(seed, SALT), columns.ids[position] as number));
    return makeInvoice(columns, position, random, traits);
  };
}

function makeInvoice(columns: Columns, position: number, random: Random, traits: InvoiceTraits): Invoice {
  const id = columns.ids[position] as number;
  const day = columns.days[position] as number;
  const items = randomItems(random);
  return {
    id,
    invoice_number: `INV-${String(id).padStart(6, '0')}`,
    customer_id: columns.owners[position] as number,
    date: day === NO_DAY ? null : dateOf(day),
    due_date: day === NO_DAY || random.chance(0.01) ? null : dateOf(day + random.pick([0, 14, 14, 30, 30, 30, 60])),
    amount: amountOf(items, id, random, traits),
    status: invoiceStates[columns.states[position] as number] as string,
    items,
    notes: random.chance(0.6) ? random.pick(['', null]) : random.pick(notes),
  };
}

/** One to five lines; three percent of invoices have up to 60. */
export function randomItems(random: Random): Item[] {
  const lines = random.chance(0.03) ? random.int(6, 60) : random.int(1, 5);
  return Array.from({ length: lines }, () => ({
    description: random.chance(0.01) ? random.pick(['', null]) : random.pick(goods),
    amount: random.int(1, 200_000) / 100,
    qty: random.chance(0.05) ? random.int(1, 40) / 4 : random.int(1, 12),
  }));
}

/** The sum of the lines, rounded to whole cents per line. */
export function totalOf(items: readonly Item[]): number {
  return items.reduce((cents, item) => cents + Math.round(Number(item.amount) * item.qty * 100), 0) / 100;
}

function amountOf(items: readonly Item[], id: number, random: Random, traits: InvoiceTraits): Amount {
  const net = totalOf(items);
  const amount = random.chance(0.1) ? Math.round(net * 120) / 100 : net;
  if (traits.beyondDouble && id % 50 === 1) return `9007199254740993.${String(id % 100).padStart(2, '0')}`;
  return id % 97 === 5 ? Number(`${Math.floor(amount)}.12345678`) : amount;
}

/** The id of an existing customer; one in a thousand does not exist. */
export function randomCustomerId(customerIds: Int32Array, random: Random): number {
  const last = customerIds.at(-1) ?? 0;
  if (customerIds.length === 0 || random.chance(0.001)) return last + 100_000 + random.int(1, 1000);
  // The product of two draws favours a few customers with hundreds of invoices; many have none.
  return customerIds[Math.floor(random.next() * random.next() * customerIds.length)] as number;
}

/** Shares of unpaid invoices by age. */
interface OpenShare {
  newest: number;
  decayDays: number;
}

/** Large installations are paid faster: about 10% of a small one's invoices are open, 3% of an extreme one's. */
function openShareFor(count: number): OpenShare {
  if (count <= 2_000) return { newest: 0.9, decayDays: 165 };
  if (count <= 20_000) return { newest: 0.85, decayDays: 140 };
  if (count <= 100_000) return { newest: 0.7, decayDays: 105 };
  return { newest: 0.6, decayDays: 66 };
}

function randomStateIndex(age: number, { newest, decayDays }: OpenShare, more: boolean, random: Random): number {
  if (more && random.chance(0.03)) return random.int(3, 5);
  const decay = 1 + age / decayDays;
  if (random.next() >= newest / (decay * decay)) return 0;
  return random.chance(0.75) ? 1 : 2;
}
