import type { Part } from './parts.ts';

/** Hours between a change at the source and its arrival. */
export interface Delay {
  readonly mean: number;
  /** 95% of all changes arrive within this time. */
  readonly within95: number;
}

/** A list with what shows its changes. */
export interface WeightedList {
  readonly name: string;
  readonly parts: readonly Part[];
  readonly weight: number;
}

/**
 * The delay to expect for each list, by name. A part is read at the interval that the agenda aims at; one that has already waited for
 * longer shows that it does not get there, so its age counts. Without the lists whose changes are not known yet.
 */
export function expectedDelays(
  lists: readonly WeightedList[],
  requestsAnHour: number,
  mostAge: number,
): Map<string, Delay> {
  const known = lists.filter(({ parts }) => parts.length > 0);
  const parts = known.flatMap(list => list.parts.map(part => ({ ...part, weight: list.weight })));
  const intervals = readingIntervals(parts, requestsAnHour, mostAge);
  let next = 0;
  return new Map(
    known.map(list => {
      const read = list.parts.map(({ rate, age }) => ({ rate, interval: Math.max(intervals[next++] as number, age) }));
      return [list.name, { mean: meanDelay(read), within95: delayQuantile(read, 0.95) }];
    }),
  );
}

/**
 * Hours between two readings of each part, where the agenda has so many requests an hour: proportional to sqrt(requests / (weight * rate)),
 * and none longer than `most`.
 */
export function readingIntervals(
  parts: readonly (Pick<Part, 'rate' | 'requests'> & { readonly weight: number })[],
  requestsAnHour: number,
  most: number,
): number[] {
  const relative = parts.map(({ rate, requests, weight }) => Math.sqrt(requests / (weight * rate)));
  const bound = new Set<number>();
  for (;;) {
    let left = requestsAnHour;
    let needed = 0;
    for (const [index, { requests }] of parts.entries())
      if (bound.has(index)) left -= requests / most;
      else needed += requests / (relative[index] as number);
    const unit = left > 0 ? needed / left : Number.POSITIVE_INFINITY;
    const before = bound.size;
    for (const [index, each] of relative.entries()) if (each * unit > most) bound.add(index);
    if (bound.size === before) return relative.map((each, index) => (bound.has(index) ? most : each * unit));
  }
}

interface ReadPart {
  /** Changes an hour. */
  readonly rate: number;
  /** Hours between two readings. */
  readonly interval: number;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** A change waits for half of the interval on average. */
const meanDelay = (parts: readonly ReadPart[]): number =>
  sum(parts.map(({ rate, interval }) => (rate * interval) / 2)) / sum(parts.map(({ rate }) => rate));

/**
 * Hours within which the given share (0 to 1) of all changes arrive: the delay of a change is anything between none and the interval of
 * its part.
 */
export function delayQuantile(parts: readonly ReadPart[], share: number): number {
  const rate = sum(parts.map(part => part.rate));
  if (rate === 0) return 0;
  const arrived = (hours: number) =>
    sum(parts.map(({ rate, interval }) => (interval <= hours ? rate : (rate * hours) / interval))) / rate;
  let low = 0;
  let high = Math.max(...parts.map(({ interval }) => interval));
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2;
    if (arrived(middle) < share) low = middle;
    else high = middle;
  }
  return high;
}
