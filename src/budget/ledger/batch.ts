export interface Batch<T> {
  /** Resolves once the item is done, together with those that arrived while others were. Rejects if theirs failed. */
  add(item: T): Promise<void>;
}

/** Does one batch at a time, each of all the items that arrived during the previous one. */
export function createBatch<T>(doAll: (items: readonly T[]) => Promise<void>): Batch<T> {
  let arrived: T[] = [];
  let next: Promise<void> | null = null;
  let current: Promise<void> = Promise.resolve();

  async function afterCurrent(): Promise<void> {
    await current.catch(() => undefined);
    const items = arrived;
    arrived = [];
    next = null;
    current = doAll(items);
    await current;
  }

  return {
    add(item) {
      arrived.push(item);
      next ??= afterCurrent();
      return next;
    },
  };
}
