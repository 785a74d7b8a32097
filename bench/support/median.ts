/** The middle value; the mean of the two middle ones where there are two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return (low + high) / 2;
}

/** The median of each figure of several runs. */
export function medians<K extends string>(runs: readonly Readonly<Record<K, number>>[]): Record<K, number> {
  const names = Object.keys(runs[0] ?? {}) as K[];
  const pairs = names.map(name => [name, median(runs.map(run => run[name]))]);
  return Object.fromEntries(pairs) as Record<K, number>;
}
