/** An immutable set of keys, in the order in which they were added. */
export interface KeySet extends Iterable<string> {
  readonly size: number;
  has(key: string): boolean;
  /** This set and `keys`. Adding to the newest version costs only the new keys: the versions share one map. */
  with(keys: Iterable<string>): KeySet;
}

export const keySet = (keys: Iterable<string> = []): KeySet => version(new Map()).with(keys);

/** The keys that `places` holds now; later versions append behind them. */
function version(places: Map<string, number>): KeySet {
  const { size } = places;
  return {
    size,
    has: key => (places.get(key) ?? size) < size,
    with(keys) {
      const own = places.size === size ? places : new Map([...places].slice(0, size));
      for (const key of keys) if (!own.has(key)) own.set(key, own.size);
      return version(own);
    },
    *[Symbol.iterator]() {
      let yielded = 0;
      for (const key of places.keys()) {
        if (yielded++ === size) return;
        yield key;
      }
    },
  };
}
