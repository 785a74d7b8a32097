import type { Database } from '../../warehouse/database/database.ts';
import { type Order, type OrderState, setOrderState } from '../../warehouse/ledgers/orders.ts';
import { wakeUp } from '../schedule/wake-up-queue.ts';

/** What people can do to an order: from which states, and to which. */
export const CHANGES = {
  pause: { from: ['waiting', 'running'], to: 'paused', reason: null },
  resume: { from: ['paused'], to: 'waiting', reason: null },
  cancel: { from: ['waiting', 'running', 'paused'], to: 'cancelled', reason: 'Cancelled on request.' },
} as const satisfies Record<string, { from: readonly OrderState[]; to: OrderState; reason: string | null }>;

export type OrderChange = keyof typeof CHANGES;

export const isOrderChange = (text: string): text is OrderChange => Object.hasOwn(CHANGES, text);

export const allows = ({ state }: Pick<Order, 'state'>, change: OrderChange): boolean =>
  (CHANGES[change].from as readonly OrderState[]).includes(state);

/** False when the order is in no state that allows it, for example because it has just ended. */
export async function changeOrder(
  database: Database,
  { id, source }: Pick<Order, 'id' | 'source'>,
  change: OrderChange,
): Promise<boolean> {
  const { from, to, reason } = CHANGES[change];
  const changed = await setOrderState(database.kysely, id, from, to, { reason });
  if (changed && to === 'waiting') await wakeUp(database, source);
  return changed;
}
