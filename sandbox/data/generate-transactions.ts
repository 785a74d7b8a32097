import { dateOf, NO_DAY } from './calendar.ts';
import { type Columns, newColumns } from './columns.ts';
import { createRandom, mix, type Random } from './random.ts';
import type { Amount, Transaction } from './rows.ts';
import { payments } from './sample-texts.ts';
import { farDay, spreadDay, spreadIds } from './spread.ts';

const SALT = 0x77a5;
const CASH_PAIR_EVERY = 50;

export const documentedTypes = ['Income', 'Expense'] as const;
/** Transfer occurs only under the variant states=more. */
export const transactionTypes = [...documentedTypes, 'Transfer'] as const;

export interface TransactionTraits {
  moreStates: boolean;
  undated: boolean;
  beyondDouble: boolean;
  farDates: boolean;
  datesInOrder?: boolean;
}

export function transactionColumns(count: number, seed: number, today: number, traits: TransactionTraits): Columns {
  const random = createRandom(mix(seed, SALT));
  const columns = newColumns(count);
  const { ids, days, states, owners, changed } = columns;
  spreadIds(ids, random);
  for (let index = 0; index < count; index += 1) {
    const day = spreadDay(index, count, today, random, traits.datesInOrder);
    changed[index] = Math.min(day, today) * 86_400;
    const cash = isCashSale(index);
    const secondOfPair = cash && index % CASH_PAIR_EVERY === 1;
    const listed = secondOfPair ? (days[index - 1] as number) : traits.undated && random.chance(0.02) ? NO_DAY : day;
    days[index] = (traits.farDates ? farDay(index) : null) ?? listed;
    const draw = random.next();
    states[index] = cash ? 0 : traits.moreStates && draw < 0.02 ? 2 : draw < 0.57 ? 0 : 1;
    owners[index] = cash ? 1 : random.int(1, 12);
  }
  return columns;
}

/** Generates the transaction at a position; the same one on every call. */
export function transactionGenerator(
  seed: number,
  columns: Columns,
  traits: TransactionTraits,
): (position: number) => Transaction {
  const random = createRandom(seed);
  return position => {
    random.reseed(mix(mix(seed, SALT), columns.ids[position] as number));
    return makeTransaction(columns, position, random, traits);
  };
}

function makeTransaction(columns: Columns, position: number, random: Random, traits: TransactionTraits): Transaction {
  const id = columns.ids[position] as number;
  const day = columns.days[position] as number;
  const type = transactionTypes[columns.states[position] as number] as string;
  // Two equal cash sales on one day are legal; without ids, only their count tells them apart.
  const cash = isCashSale(position);
  return {
    id,
    type,
    account_id: columns.owners[position] as number,
    category_id: cash ? 1 : random.chance(0.03) ? null : random.int(1, 40),
    amount: cash ? 5 : amountOf(id, type, random.int(1, 500_000) / 100, traits),
    description: cash ? 'Cash sale' : random.chance(0.04) ? random.pick(['', null]) : random.pick(payments),
    date: day === NO_DAY ? null : dateOf(day),
  };
}

function amountOf(id: number, type: string, amount: number, traits: TransactionTraits): Amount {
  if (traits.beyondDouble && id % 50 === 3) return `${Math.floor(amount)}.12345678901234567891`;
  if (id % 211 === 7) return Number(`${Math.floor(amount)}.0625019`);
  return type === 'Expense' && id % 83 === 9 ? -amount : amount;
}

function isCashSale(position: number): boolean {
  return position % CASH_PAIR_EVERY < 2;
}
