import type { Budget } from '../../budget/budget.ts';
import { SluiceError } from '../../errors.ts';

/** Bounds the requests of all budgets that it wraps to `most` together; kind `quota` for the next, once those sent are answered. */
export function limitRequests(most: number): (budget: Budget) => Budget {
  let left = most;
  const open = new Set<string>();
  let answered: (() => void)[] = [];
  const close = (ids: readonly string[]) => {
    for (const id of ids) open.delete(id);
    if (open.size > 0) return;
    for (const resolve of answered) resolve();
    answered = [];
  };
  return budget => ({
    async take(lane, want, kept) {
      // What is in flight is still read and kept; a grant that comes back unused may be taken again.
      while (left === 0 && open.size > 0) await new Promise<void>(resolve => answered.push(resolve));
      if (left === 0)
        throw new SluiceError('quota', `Stopped after ${most} requests, as --max-requests says.`, {
          next: 'Run the same command again to continue. Everything read so far is kept.',
        });
      const reserved = Math.min(want, left);
      left -= reserved;
      let used = 0;
      try {
        const taken = await budget.take(lane, reserved, kept);
        used = taken.grants.length;
        for (const { id } of taken.grants) open.add(id);
        return taken;
      } finally {
        left += reserved - used;
      }
    },
    async settle(grant, settlement) {
      try {
        await budget.settle(grant, settlement);
      } finally {
        close([grant.id]);
      }
    },
    async release(grants) {
      left += grants.length;
      try {
        await budget.release(grants);
      } finally {
        close(grants.map(grant => grant.id));
      }
    },
  });
}
