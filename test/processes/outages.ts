/** When changes cannot be delivered as usual, to one receiver or, with null, to all. Moments are epoch ms. */
export interface Outages {
  begin(receiver: string | null): void;
  end(receiver: string | null): void;
  add(receiver: string | null, from: number, until: number): void;
  /** Whether none is going on. */
  areOver(): boolean;
  /** Whether one of this receiver touches the time between. */
  touch(receiver: string, from: number, until: number): boolean;
}

export function createOutages(): Outages {
  const past: { receiver: string | null; from: number; until: number }[] = [];
  const begun = new Map<string | null, number>();
  const add: Outages['add'] = (receiver, from, until) => void past.push({ receiver, from, until });
  return {
    begin(receiver) {
      if (!begun.has(receiver)) begun.set(receiver, Date.now());
    },
    end(receiver) {
      const from = begun.get(receiver);
      if (from !== undefined) add(receiver, from, Date.now());
      begun.delete(receiver);
    },
    add,
    areOver: () => begun.size === 0,
    touch: (receiver, from, until) =>
      past.some(each => (each.receiver ?? receiver) === receiver && each.from <= until && each.until >= from) ||
      [receiver, null].some(name => (begun.get(name) ?? Number.POSITIVE_INFINITY) <= until),
  };
}

export function describeDelays(delays: readonly number[]): string {
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (share: number) => ((sorted[Math.ceil(share * sorted.length) - 1] ?? 0) / 1000).toFixed(1);
  return `${sorted.length} deliveries, median ${at(0.5)} s, 95% ${at(0.95)} s, at most ${at(1)} s`;
}
