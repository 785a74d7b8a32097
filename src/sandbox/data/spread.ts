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
 * start, in nearly ascending order; a few are backdated or lie in the future.
 */
export function spreadDay(index: number, count: number, today: number, random: Random): number {
  const share = (Math.sqrt(0.16 + 2.4 * ((index + 0.5) / count)) - 0.4) / 1.2;
  const entered = today - Math.floor((1 - share) * YEARS_BACK_DAYS);
  const draw = random.next();
  if (draw < 0.0005) return today + random.int(1, 30);
  if (draw < 0.02) return entered - random.int(3, 120);
  return Math.min(today, entered - random.int(0, 2));
}
