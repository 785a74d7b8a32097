import type { Database } from '../../../warehouse/database/database.ts';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { findReader } from '../../../warehouse/database/source-lock.ts';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import { type Order, openOrders } from '../../../warehouse/ledgers/orders.ts';
import { type OrderProgress, orderProgress } from '../../../warehouse/reports/report.ts';
import { estimateRemaining, type Pace, type RemainingWork } from '../../orders/order-cost.ts';
import type { ServedSource } from '../../status/served-source.ts';
import { shownOrderState } from '../../status/source-state.ts';
import type { ConsoleParts } from '../console-parts.ts';

/** An order that has not ended, with its progress and what is left of it. */
export interface ShownOrder extends Order {
  readonly progress: OrderProgress;
  /** Null while it is paused. */
  readonly left: RemainingWork | null;
}

/** Of all sources, oldest first. */
export async function readOpenOrders({
  database,
  sources,
}: Pick<ConsoleParts, 'database' | 'sources'>): Promise<ShownOrder[]> {
  const shown: ShownOrder[] = [];
  for (const source of sources) {
    const open = await openOrders(database.kysely, source.name);
    if (open.length > 0) shown.push(...(await withProgress(database, source, open, open.length)));
  }
  return shown;
}

/** `sharing`: open orders of the source, which share its pace. */
export async function withProgress(
  database: Database,
  source: ServedSource,
  orders: readonly Order[],
  sharing: number,
): Promise<ShownOrder[]> {
  const pace = await paceOf(source);
  const now = await databaseNow(database);
  const isRead = (await findReader(database, source.name)) !== null;
  const shown: ShownOrder[] = [];
  for (const order of orders) {
    const progress = await orderProgress(database.kysely, order.id);
    const isIdle = order.state === 'paused' || order.endedAt !== null;
    const left = isIdle ? null : estimateRemaining(progress, pace, now, sharing);
    shown.push({ ...order, state: shownOrderState(order.state, { isRead, isServed: true }), progress, left });
  }
  return shown;
}

/** How fast the source can be read now. */
export async function paceOf(source: ServedSource): Promise<Pace> {
  const { limit, nextFreeAt } = await source.usage();
  return { limit, windowMs: source.rules.windowMs, nextFreeAt: nextFreeAt === null ? null : stampMs(nextFreeAt) };
}
