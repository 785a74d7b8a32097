import { dayOf } from './calendar.ts';
import type { Random } from './random.ts';

const YEARS_BACK_DAYS = 6 * 365;

/** Fills in ascending ids with gaps, as years of deletions leave them. */
export function spreadIds(ids: Int32Array, random: Random): void {
  let id = 0;
  for (let index = 0; index < ids.length; index += 1) {
    id += random.chance(0.03) ? random.int(2, 9) : 1;
    ids[index] = id;
  }
}

/**
 * The day of row number `index` of `count`. Rows cover six years up to `today`, four times as dense at the end as at the
 * start, in nearly ascending order; a few are backdated or lie in the future. `inOrder`: all have the day on which they were entered.
 */
export function spreadDay(index: number, count: number, today: number, random: Random, inOrder = false): number {
  const share = (Math.sqrt(0.16 + 2.4 * ((index + 0.5) / count)) - 0.4) / 1.2;
  const entered = today - Math.floor((1 - share) * YEARS_BACK_DAYS);
  const draw = random.next();
  if (inOrder) return entered;
  if (draw < 0.0005) return today + random.int(1, 30);
  if (draw < 0.02) return entered - random.int(3, 120);
  return Math.min(today, entered - random.int(0, 2));
}

/** Before, between and beyond what 32-bit times and windows of dates hold. */
const FAR_DAYS = ['1850-06-15', '2050-06-15', '9999-06-15'].map(dayOf);
const FAR_EVERY = 50;

/** The far day of a row that has one, else null. Takes no random number, so that the other rows stay the same. */
export const farDay = (index: number): number | null =>
  index % FAR_EVERY === 10 ? (FAR_DAYS[Math.floor(index / FAR_EVERY) % FAR_DAYS.length] as number) : null;
