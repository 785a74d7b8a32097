import { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { adoptOrder, createOrder, type Order, type OrderState, setOrderState } from '../../warehouse/ledgers/orders.ts';
import { wakeUp } from '../schedule/wake-ups.ts';

/** An order for one resource, as a command asks for it. */
export type OrderRequest = Omit<Parameters<typeof createOrder>[1], 'source'>;

/** Creates the order, or adopts an equal open one. Kind `usage` if that one is paused: only `backfill resume` continues it. */
export async function placeOrder(database: Database, source: string, request: OrderRequest): Promise<Order> {
  const { resource, kind } = request;
  const order = { source, dateFrom: null, dateTo: null, repair: false, acceptDeletes: 0, ...request };
  const open = await adoptOrder(database.kysely, order);
  if (open?.state === 'paused') {
    throw new SluiceError('usage', `An equal ${kind} of ${resource} exists and is paused (order ${open.id}).`, {
      next: `To continue it: sluice backfill resume ${open.id}. To give it up: sluice backfill cancel ${open.id}.`,
    });
  }
  return open ?? createOrder(database.kysely, order);
}

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
