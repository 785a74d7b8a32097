import { html } from 'hono/html';
import type { Order, OrderState } from '../../../warehouse/ledgers/orders.ts';
import type { ListedOrder } from '../../../warehouse/reports/run-history.ts';
import { count, plural } from '../../format.ts';
import { rangeText } from '../../orders/order-range.ts';
import { allows, CHANGES, type OrderChange } from '../../orders/order-requests.ts';
import type { Badge } from '../../status/condition.ts';
import type { Html } from '../layout/html.ts';
import { badge } from '../layout/icons.ts';
import { ago, type Now } from '../parts/age.ts';
import { press } from '../parts/form.ts';
import { meter } from '../parts/meter.ts';
import { table } from '../parts/table.ts';
import type { ShownOrder } from './read-orders.ts';

/** `backfill of`, the resource, and `2024-01-01 .. end`. */
export function orderTitle({
  kind,
  repair,
  resource,
  dateFrom,
  dateTo,
}: Pick<Order, 'kind' | 'repair' | 'resource' | 'dateFrom' | 'dateTo'>): string {
  const what = kind === 'verify' && repair ? 'repair' : kind;
  const range = dateFrom === null && dateTo === null ? '' : `, ${rangeText({ from: dateFrom, to: dateTo })}`;
  return `${what} of ${resource}${range}`;
}

const STATES: Readonly<Record<OrderState, Badge>> = {
  waiting: { icon: 'wait', tone: '', text: 'waiting' },
  running: { icon: 'busy', tone: 'busy', text: 'running' },
  paused: { icon: 'off', tone: '', text: 'paused' },
  done: { icon: 'ok', tone: 'good', text: 'done' },
  failed: { icon: 'bad', tone: 'bad', text: 'failed' },
  cancelled: { icon: 'off', tone: '', text: 'cancelled' },
};

export const orderState = (state: OrderState): Badge => STATES[state];

export function openOrderList(
  orders: readonly ShownOrder[],
  now: Now,
  { several, csrf }: { several: boolean; csrf: Html },
): Html {
  return html`<ul class="queue">${orders.map(
    order => html`<li><div class="head"><h3><a href="/orders/${order.id}">${several ? `${order.source} ` : ''}${orderTitle(order)}</a></h3>${badge(orderState(order.state))}</div>
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
      html`${badge(orderState(order.state))}${order.reason === null ? '' : html`<p class="soft reason">${hide(order.reason)}</p>`}`,
    ]),
  });
}
