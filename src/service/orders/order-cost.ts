import type { Usage } from '../../budget/ledger/usage.ts';
import { SECOND, stampMs } from '../../clock.ts';
import { wants } from '../../engine/agenda/choice.ts';
import { pageSize, partition } from '../../engine/coverage/list.ts';
import { openResource } from '../../engine/resource.ts';
import { sliceText } from '../../engine/slices/slice.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { findReader } from '../../warehouse/database/source-lock.ts';
import { type ListedOrder, openOrders } from '../../warehouse/ledgers/orders.ts';
import { type OrderProgress, orderProgress } from '../../warehouse/reports/order-progress.ts';
import { count, plural } from '../format.ts';
import { shownOrderState } from '../status/source-state.ts';
import type { Range } from './order-requests.ts';

/** What reading a range of a resource again would cost, from the bookkeeping alone. */
export async function estimateReading(database: Database, list: Parameters<typeof openResource>[1], range: Range) {
  const resource = await openResource(database.kysely, list);
  const parts = partition(resource)
    .filter(entry => wants(range, entry.slice))
    .map(({ slice, provenAt, rows, requests }) => ({
      slice: sliceText(slice),
      /** Epoch milliseconds; null if never read. */
      provenAt,
      rows,
      requests: provenAt === null && rows === null ? null : requests,
    }))
    .sort((a, b) => (a.slice < b.slice ? 1 : -1));
  const known = parts.filter(part => part.rows !== null);
  const rows = known.reduce((sum, part) => sum + (part.rows ?? 0), 0);
  return {
    /** The slices that an order would read, each with what its last reading was like. */
    parts,
    /** Parts whose cost is not known yet; `rows` and `requests` are of the others. */
    neverRead: parts.length - known.length,
    rows,
    // Neighbouring slices are read together, padded by a day on both sides: about a tenth more than the rows alone.
    requests: known.length === 0 ? 0 : Math.ceil((rows / pageSize(resource)) * 1.1),
  };
}

export type ReadingEstimate = Awaited<ReturnType<typeof estimateReading>>;

/** Nothing is known of a list that was never read. */
export const UNREAD: ReadingEstimate = {
  parts: [{ slice: 'all of it', provenAt: null, rows: null, requests: null }],
  neverRead: 1,
  rows: 0,
  requests: 0,
};

/** What an open order still needs. */
export interface RemainingWork {
  readonly requests: number;
  /** Estimate in epoch milliseconds; null while some parts were never read, because their size is unknown. */
  readonly finishesAt: number | null;
}

/** How fast a source can be read: its limit as it is now, and when the next request may be sent (epoch ms); null for now. */
export const paceOf = ({ limit, windowMs }: { limit: number; windowMs: number }, usage: Usage | null) => ({
  limit: usage?.limit ?? limit,
  windowMs,
  nextFreeAt: usage?.nextFreeAt ? stampMs(usage.nextFreeAt) : null,
});

export type Pace = ReturnType<typeof paceOf>;

/** When `requests` will have been sent, in epoch milliseconds: at the speed of the limit, from the next free request on. */
export const finishTime = (requests: number, { limit, windowMs, nextFreeAt }: Pace, now: number): number =>
  Math.round(Math.max(now, nextFreeAt ?? now) + Math.max((requests * windowMs) / limit, SECOND));

/**
 * Lanes below live are paced at window / limit, so that is an order's speed once half of the window's requests are used.
 * `openOrders` orders share it.
 */
export function estimateRemaining(progress: OrderProgress, pace: Pace, now: number, openOrders: number): RemainingWork {
  const { requestsLeft: requests, neverRead, slices } = progress;
  const isKnown = neverRead === 0 && slices > 0;
  return { requests, finishesAt: isKnown ? finishTime(requests * openOrders, pace, now) : null };
}

/**
 * Each with its progress, its state as people should see it, and what is left of it, null while it is paused and once it has ended. `pace`: that of
 * the source, which open orders share.
 */
export async function describeOrders<O extends ListedOrder>(
  database: Database,
  { source, pace }: { readonly source: string; readonly pace: Pace },
  orders: readonly O[],
) {
  const { kysely } = database;
  const sharing = (await openOrders(kysely, source)).filter(({ state }) => state !== 'paused').length;
  const isRead = (await findReader(database, source)) !== null;
  const now = await databaseNow(database);
  const described = [];
  for (const order of orders) {
    const progress = await orderProgress(kysely, order.id);
    const isIdle = order.state === 'paused' || order.endedAt !== null;
    const left = isIdle ? null : estimateRemaining(progress, pace, now, sharing);
    described.push({ ...order, state: shownOrderState(order.state, { isRead }), progress, left });
  }
  return described;
}

export function remainingText({ requests, finishesAt }: RemainingWork, at: (value: number) => string): string {
  if (finishesAt !== null) return `${count(requests)}, until about ${at(finishesAt).slice(0, 16)}`;
  return requests === 0 ? 'not known yet' : `at least ${plural(requests, 'request')}`;
}
