import type { Random } from './random.ts';

const YEARS_BACK_DAYS = 6 * 365;

/** Ascending ids with holes, as deletes over the years leave them. */
export function spreadIds(ids: Int32Array, random: Random): void {
  let id = 0;
  for (let index = 0; index < ids.length; index += 1) {
    id += random.chance(0.03) ? random.int(2, 9) : 1;
    ids[index] = id;
  }
}

/**
 * The day of a row entered as number `index` of `count`: over six years up to `today`, four times as dense now as at the
 * start, nearly in the order of entry.
 */
export function spreadDay(index: number, count: number, today: number, random: Random): number {
  const share = (Math.sqrt(0.16 + 2.4 * ((index + 0.5) / count)) - 0.4) / 1.2;
  const entered = today - Math.floor((1 - share) * YEARS_BACK_DAYS);
  const dice = random.next();
  if (dice < 0.0005) return today + random.int(1, 30);
  if (dice < 0.02) return entered - random.int(3, 120);
  return Math.min(today, entered - random.int(0, 2));
}
