import { html } from 'hono/html';
import { groupBy } from '../../../engine/group-by.ts';
import type { Database } from '../../../warehouse/database/database.ts';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { findReader } from '../../../warehouse/database/source-lock.ts';
import { allOpenOrders, type Order, type OrderState } from '../../../warehouse/ledgers/orders.ts';
import { type OrderProgress, orderProgress } from '../../../warehouse/reports/order-progress.ts';
import type { ListedOrder } from '../../../warehouse/reports/run-history.ts';
import { count, plural } from '../../format.ts';
import { estimateRemaining, paceOf, type RemainingWork } from '../../orders/order-cost.ts';
import { rangeText } from '../../orders/order-range.ts';
import { allows, CHANGES, type OrderChange } from '../../orders/order-requests.ts';
import type { Badge } from '../../status/condition.ts';
import type { ServedSource } from '../../status/served-source.ts';
import { shownOrderState } from '../../status/source-state.ts';
import { meter } from '../charts.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { ago, badge, type Html, type Now, press, table } from '../elements.ts';

/** An order that has not ended, with its progress and what is left of it. */
export interface ShownOrder extends Order {
  readonly progress: OrderProgress;
  /** Null while it is paused. */
  readonly left: RemainingWork | null;
}

/** Of all sources, oldest first. */
export async function readOpenOrders({ database, sources }: ConsoleParts): Promise<ShownOrder[]> {
  const names = sources.map(({ name }) => name);
  const bySource = groupBy(await allOpenOrders(database.kysely, names), order => order.source);
  const shown: ShownOrder[] = [];
  for (const source of sources) {
    const open = bySource.get(source.name);
    if (open) shown.push(...(await withProgress(database, source, open, open.length)));
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
  const pace = paceOf(source.rules, await source.usage());
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

/** `backfill of`, the resource, and `2024-01-01 .. end`. */
export function orderTitle(order: Order | ListedOrder): string {
  const { kind, repair, resource, dateFrom, dateTo } = order;
  const what = kind === 'verify' && repair ? 'repair' : kind;
  const range = dateFrom === null && dateTo === null ? '' : `, ${rangeText({ from: dateFrom, to: dateTo })}`;
  return `${what} of ${resource}${range}`;
}

export const ORDER_BADGES: Readonly<Record<OrderState, Badge>> = {
  waiting: { icon: 'wait', tone: '', text: 'waiting' },
  running: { icon: 'busy', tone: 'busy', text: 'running' },
  paused: { icon: 'off', tone: '', text: 'paused' },
  done: { icon: 'ok', tone: 'good', text: 'done' },
  failed: { icon: 'bad', tone: 'bad', text: 'failed' },
  cancelled: { icon: 'off', tone: '', text: 'cancelled' },
};

export function openOrderList(
  orders: readonly ShownOrder[],
  now: Now,
  { several, csrf }: { several: boolean; csrf: Html },
): Html {
  return html`<ul class="queue">${orders.map(
    order => html`<li><div class="head"><h3><a href="/orders/${order.id}">${several ? `${order.source} ` : ''}${orderTitle(order)}</a></h3>${badge(ORDER_BADGES[order.state])}</div>
${orderProgressBar(order, now)}${orderButtons(order, csrf)}</li>`,
  )}</ul>`;
}

/** How much of it is proven, and when the rest will be. */
export function orderProgressBar({ progress: { slices, proven, neverRead }, left, state }: ShownOrder, now: Now): Html {
  const text = slices === 0 ? 'Its slices are not known yet' : `${count(proven)} of ${plural(slices, 'slice')} proven`;
  const rest =
    left === null
      ? state === 'paused'
        ? 'Paused: it goes on where it stopped.'
        : ''
      : left.finishesAt === null
        ? `At least ${plural(left.requests, 'request')} left; ${plural(neverRead, 'part')} ${neverRead === 1 ? 'was' : 'were'} never read.`
        : html`About ${plural(left.requests, 'request')} left, done ${ago(left.finishesAt, now)}.`;
  return html`${meter([{ name: '', colour: 'q5', value: proven }], slices, text)}<p class="soft">${text}. ${rest}</p>`;
}

const LABELS: Readonly<Record<OrderChange, string>> = { pause: 'Pause', resume: 'Resume', cancel: 'Cancel' };

/** What can be done to it now. */
export function orderButtons(order: Pick<Order, 'id' | 'state'>, csrf: Html): Html | string {
  const changes = (Object.keys(CHANGES) as OrderChange[]).filter(change => allows(order, change));
  if (changes.length === 0) return '';
  return html`<div class="row after">${changes.map(change => press(`/orders/${order.id}/${change}`, LABELS[change], csrf))}</div>`;
}

export function endedOrders(
  orders: readonly ListedOrder[],
  now: Now,
  { several, hide }: { several: boolean; hide: (text: string) => string },
): Html {
  return table({
    caption: 'Orders that have ended, newest first',
    head: ['order', 'ended', 'requests', 'outcome'],
    right: [2],
    rows: orders.map(order => [
      html`<a href="/orders/${order.id}">${order.id}: ${several ? `${order.source} ` : ''}${orderTitle(order)}</a>`,
      order.endedAt === null ? '–' : ago(order.endedAt, now),
      count(order.requests),
      html`${badge(ORDER_BADGES[order.state])}${order.reason === null ? '' : html`<p class="soft reason">${hide(order.reason)}</p>`}`,
    ]),
  });
}
