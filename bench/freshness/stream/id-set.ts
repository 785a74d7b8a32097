import type { Random } from '../../../sandbox/data/random.ts';

/** A set of ids from which any one can be drawn. */
export interface IdSet {
  readonly size: number;
  has(id: number): boolean;
  add(id: number): void;
  delete(id: number): void;
  /** Undefined if the set is empty. */
  any(random: Random): number | undefined;
}

export function createIdSet(): IdSet {
  const ids: number[] = [];
  const indexes = new Map<number, number>();
  return {
    get size() {
      return ids.length;
    },
    has: id => indexes.has(id),
    add(id) {
      if (indexes.has(id)) return;
      indexes.set(id, ids.length);
      ids.push(id);
    },
    delete(id) {
      const index = indexes.get(id);
      if (index === undefined) return;
      const last = ids.pop() as number;
      indexes.delete(id);
      if (last === id) return;
      ids[index] = last;
      indexes.set(last, index);
    },
    any: random => (ids.length === 0 ? undefined : random.pick(ids)),
  };
}
