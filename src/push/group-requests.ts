import type { PushTarget } from './targets.ts';

/** The lines of one request. */
export interface RequestGroup<Item> {
  readonly batch: boolean;
  readonly items: Item[];
}

/** Groups lines into requests: those that a batch can hold by `batchSize`, all others one by one. */
export function groupRequests<Item extends { readonly body: unknown }>(
  target: PushTarget,
  items: readonly Item[],
  batchSize: number,
): RequestGroup<Item>[] {
  const fits = ({ body }: Item) => target.batch !== null && batchSize > 1 && target.batch.entry.safeParse(body).success;
  const together = items.filter(fits);
  const groups: RequestGroup<Item>[] = [];
  for (let at = 0; at < together.length; at += batchSize)
    groups.push({ batch: true, items: together.slice(at, at + batchSize) });
  return [...groups, ...items.filter(item => !fits(item)).map(item => ({ batch: false, items: [item] }))];
}
