import { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { adoptOrder, createOrder, type Order, type OrderKind } from '../../warehouse/ledgers/orders.ts';

/** An order for one resource, as a command asks for it. */
export interface OrderRequest {
  readonly resource: string;
  readonly kind: OrderKind;
  readonly dateFrom?: string | null;
  readonly dateTo?: string | null;
  readonly repair?: boolean;
  readonly whole?: boolean;
  readonly acceptDeletes?: number;
}

/** Creates the order, or adopts an equal open one. Kind `usage` if that one is paused: only `backfill resume` continues it. */
export async function placeOrder(database: Database, source: string, request: OrderRequest): Promise<Order> {
  const { resource, kind } = request;
  const { dateFrom = null, dateTo = null, repair = false, whole = false, acceptDeletes = 0 } = request;
  const order = { source, resource, kind, dateFrom, dateTo, repair, whole, acceptDeletes };
  const open = await adoptOrder(database.kysely, order);
  if (open?.state === 'paused') {
    throw new SluiceError('usage', `An equal ${kind} of ${resource} exists and is paused (order ${open.id}).`, {
      next: `To continue it: sluice backfill resume ${open.id}. To give it up: sluice backfill cancel ${open.id}.`,
    });
  }
  return open ?? createOrder(database.kysely, order);
}
