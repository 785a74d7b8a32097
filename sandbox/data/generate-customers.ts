import { stampOf } from './calendar.ts';
import { type Columns, newColumns } from './columns.ts';
import { createRandom, mix, type Random } from './random.ts';
import type { Customer } from './rows.ts';
import { firstNames, lastNames, legalForms, places, streets, trades } from './sample-texts.ts';
import { spreadDay, spreadIds } from './spread.ts';

const SECONDS_PER_DAY = 86_400;
const SALT = 0xc057;

export function customerColumns(count: number, seed: number, today: number): Columns {
  const random = createRandom(mix(seed, SALT));
  const columns = newColumns(count);
  spreadIds(columns.ids, random);
  for (let index = 0; index < count; index += 1) {
    // Customers are entered on the day itself: none is backdated or in the future.
    const day = Math.min(spreadDay(index, count, today, random), today - 1);
    columns.days[index] = day;
    const created = createdSeconds(seed, columns, index);
    const edited = random.chance(0.3) ? random.int(1, (today - day) * SECONDS_PER_DAY) : 0;
    columns.changed[index] = Math.min(created + edited, today * SECONDS_PER_DAY - 1);
  }
  return columns;
}

/** Generates the customer at a position; the same one on every call. */
export function customerGenerator(seed: number, columns: Columns): (position: number) => Customer {
  const random = createRandom(seed);
  return position => {
    random.reseed(mix(mix(seed, SALT), columns.ids[position] as number));
    return makeCustomer(seed, columns, position, random);
  };
}

function makeCustomer(seed: number, columns: Columns, position: number, random: Random): Customer {
  const id = columns.ids[position] as number;
  const first = random.pick(firstNames);
  const last = random.pick(lastNames);
  const place = random.pick(places);
  const person = random.chance(0.35);
  return {
    id,
    account: person ? `${first} ${last}` : `${last} ${random.pick(trades)} ${random.pick(legalForms)}`.trimEnd(),
    email: random.chance(0.04) ? random.pick([null, '']) : `contact${id}@example${random.int(1, 40)}.com`,
    phone: random.chance(0.15)
      ? random.pick([null, ''])
      : `+${random.int(1, 99)} ${random.int(100, 999)} ${random.int(100_000, 999_999)}`,
    address: random.chance(0.1) ? null : `${random.int(1, 250)} ${random.pick(streets)}`,
    city: place[0],
    state: place[1],
    zip: place[2],
    country: place[3],
    created_at: stampOf(createdSeconds(seed, columns, position)),
    updated_at: stampOf(columns.changed[position] as number),
  };
}

function createdSeconds(seed: number, columns: Columns, position: number): number {
  const id = columns.ids[position] as number;
  return (columns.days[position] as number) * SECONDS_PER_DAY + (mix(mix(seed, SALT + 1), id) % SECONDS_PER_DAY);
}
