/** A priority queue of items by time (a binary heap). */
export interface DueQueue<T> {
  readonly earliestMs: number;
  add(dueMs: number, item: T): void;
  /** Removes and returns the earliest item. */
  take(): T;
}

export function createDueQueue<T>(): DueQueue<T> {
  const heap: { dueMs: number; item: T }[] = [];
  const dueAt = (index: number) => heap[index]?.dueMs ?? Number.POSITIVE_INFINITY;
  const swap = (a: number, b: number) => {
    [heap[a], heap[b]] = [heap[b] as (typeof heap)[number], heap[a] as (typeof heap)[number]];
  };
  return {
    get earliestMs() {
      return dueAt(0);
    },
    add(dueMs, item) {
      heap.push({ dueMs, item });
      for (let index = heap.length - 1; index > 0; ) {
        const parent = (index - 1) >> 1;
        if (dueAt(parent) <= dueAt(index)) break;
        swap(index, parent);
        index = parent;
      }
    },
    take() {
      swap(0, heap.length - 1);
      const taken = heap.pop();
      if (!taken) throw new RangeError('the queue is empty');
      for (let index = 0; ; ) {
        const [left, right] = [2 * index + 1, 2 * index + 2];
        const child = dueAt(right) < dueAt(left) ? right : left;
        if (dueAt(index) <= dueAt(child)) break;
        swap(index, child);
        index = child;
      }
      return taken.item;
    },
  };
}
