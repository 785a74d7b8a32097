/** A source's limit, and how its resources share it. */
export interface Shares {
  /** Requests per window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
  readonly resources: readonly { readonly name: string }[];
  /** Weight of each resource in sharing the limit. Default: 1. */
  readonly weights?: Readonly<Record<string, number>>;
}

/**
 * Requests that a slot may spend on rereading: what the limit refilled since the resource's last slot (`previousAt`, epoch ms),
 * split by weight, and half of that while a backfill or verify waits. Weight 0 (no schedule) takes nothing from the others and
 * counts as 1 for an order.
 */
export function slotShare(
  { limit, windowMs, resources, weights = {} }: Shares,
  resource: { readonly name: string },
  time: { readonly previousAt: number | null; readonly now: number },
  othersWait: boolean,
): number {
  const { previousAt, now } = time;
  const elapsed = previousAt === null ? 1 : Math.min(Math.max(now - previousAt, 0) / windowMs, 1);
  const own = (weights[resource.name] ?? 1) || 1;
  const all = resources.reduce((sum, each) => sum + (each.name === resource.name ? own : (weights[each.name] ?? 1)), 0);
  return Math.max(Math.floor((limit * elapsed * own) / all / (othersWait ? 2 : 1)), 1);
}
