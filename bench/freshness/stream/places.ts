import type { Random } from '../../../sandbox/data/random.ts';
import type { StreamParameters } from '../parameters.ts';

/**
 * Which rows of a list a change may hit, by position: rows from the newest end. At `perDay` rows a day, a row of age `a` days
 * has the position `a * perDay`.
 */
export type Places =
  /** The newest end. */
  | 'newest'
  /** Open invoices, which become fewer with age. */
  | 'open'
  /** Mostly young rows, some of any age. */
  | 'aged'
  /** Rows of these ages in days, evenly. */
  | { readonly fromDays: number; readonly toDays: number };

/** What places of a list depend on. */
export interface Extent {
  readonly size: number;
  readonly perDay: number;
}

type Ages = Pick<StreamParameters, 'youngShare' | 'youngDays' | 'oldestDays' | 'paidAfterDays'>;

/** Probability that a change hits a position from `from` (included) to `to` (not included). */
export function massOf(places: Places, { size, perDay }: Extent, ages: Ages, from: number, to: number): number {
  const exponential = (days: number) => Math.exp(-from / (days * perDay)) - Math.exp(-to / (days * perDay));
  const even = (first: number, last: number) =>
    last > first ? Math.max(Math.min(to, last) - Math.max(from, first), 0) / (last - first) : 0;
  if (places === 'newest') return from === 0 ? 1 : 0;
  if (places === 'open') return exponential(ages.paidAfterDays);
  if (places !== 'aged') return even(places.fromDays * perDay, Math.min(places.toDays * perDay, size));
  const { youngShare, youngDays, oldestDays } = ages;
  return youngShare * exponential(youngDays) + (1 - youngShare) * even(0, Math.min(oldestDays * perDay, size));
}

/** A position drawn by the same law; 'newest' and 'open' have no law of their own here. */
export function drawPosition(
  places: Exclude<Places, 'newest' | 'open'>,
  { size, perDay }: Extent,
  ages: Ages,
  random: Random,
): number {
  const anyOf = (first: number, last: number) => Math.floor(first + random.next() * Math.max(last - first, 0));
  const position = () => {
    if (places !== 'aged') return anyOf(places.fromDays * perDay, Math.min(places.toDays * perDay, size));
    if (random.chance(ages.youngShare)) return Math.floor(-Math.log(1 - random.next()) * ages.youngDays * perDay);
    return anyOf(0, Math.min(ages.oldestDays * perDay, size));
  };
  for (;;) {
    const drawn = position();
    if (drawn < size) return drawn;
  }
}
