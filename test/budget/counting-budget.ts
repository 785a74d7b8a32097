import type { Budget, Grant, Lane, Settlement } from '../../src/budget/budget.ts';

export interface CountingBudget extends Budget {
  readonly taken: { lane: Lane; count: number }[];
  readonly settled: { grant: Grant; settlement: Settlement }[];
  readonly released: Grant[];
  /** Grants neither settled nor released. */
  open(): number;
}

/** Wraps a budget (by default one that grants all) and keeps the books; throws when a grant is given back twice. */
export function countingBudget(inner?: Budget): CountingBudget {
  const open = new Set<string>();
  const taken: CountingBudget['taken'] = [];
  const settled: CountingBudget['settled'] = [];
  const released: Grant[] = [];
  let issued = 0;
  function close(grant: Grant): void {
    if (!open.delete(grant.id)) throw new Error(`grant ${grant.id} was already given back`);
  }
  return {
    taken,
    settled,
    released,
    open: () => open.size,
    async take(lane, want) {
      const answer = inner
        ? await inner.take(lane, want)
        : {
            grants: Array.from({ length: want }, () => ({ id: `g${++issued}`, grantedAt: `at ${issued}`, unused: 1 })),
            waitMs: 0,
          };
      for (const grant of answer.grants) open.add(grant.id);
      if (answer.grants.length > 0) taken.push({ lane, count: answer.grants.length });
      return answer;
    },
    async settle(grant, settlement) {
      close(grant);
      settled.push({ grant, settlement });
      await inner?.settle(grant, settlement);
    },
    flush: async () => inner?.flush(),
    async release(grants) {
      grants.forEach(close);
      released.push(...grants);
      await inner?.release(grants);
    },
  };
}
