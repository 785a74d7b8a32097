import { html } from 'hono/html';
import { capitalized } from '../../../errors.ts';
import type { Order, OrderState } from '../../../warehouse/ledgers/orders.ts';
import type { ListedOrder, PastRun } from '../../../warehouse/reports/run-history.ts';
import { count, moment, plural } from '../../format.ts';
import { rangeText } from '../../orders/order-range.ts';
import { allows, CHANGES, type OrderChange } from '../../orders/order-requests.ts';
import type { Badge } from '../../status/condition.ts';
import { meter } from '../charts.ts';
import { documentOf } from '../document.ts';
import { ago, badge, card, type Html, icon, type Now, press, table } from '../elements.ts';
import { runTable } from '../runs/run-table.ts';
import type { ShownOrder } from './read-orders.ts';

interface OrderShown {
  readonly order: ShownOrder;
  readonly runs: readonly PastRun[];
  readonly csrf: Html;
  readonly hide: (text: string) => string;
}

/** How far it is, when it will be done, what it found. */
export function orderPage({ order, runs, csrf, hide }: OrderShown, now: Now): Html {
  const { id, source, state, reason, createdAt, endedAt, requests } = order;
  const shown = orderState(state);
  const facts: [string, Html | string][] = [
    ['Source', html`<a href="/sources/${encodeURIComponent(source)}">${source}</a>`],
    ['Created', html`${moment(createdAt, now.timeZone)} <span class="soft">${ago(createdAt, now)}</span>`],
    [
      'Ended',
      endedAt === null
        ? 'not yet'
        : html`${moment(endedAt, now.timeZone)} <span class="soft">${ago(endedAt, now)}</span>`,
    ],
    ['Requests', count(requests)],
  ];
  const main = html`<p class="crumb"><a href="/runs">Runs and orders</a> / ${id}</p>
<section class="verdict" aria-label="State" aria-live="polite">${icon(shown.icon, shown.tone)}<div><h1>${capitalized(orderTitle(order))}: ${shown.text}</h1>${reason === null ? '' : html`<p>${hide(reason)}</p>`}</div></section>
${endedAt === null ? card('Progress', [orderProgressBar(order, now), orderButtons(order, csrf)]) : ''}
${findings(order.report)}
${card('Order', html`<dl class="kv">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`)}
${card('Its runs', runs.length === 0 ? html`<p class="soft">None yet.</p>` : runTable(runs, now, { several: false, hide }))}`;
  return documentOf({ title: `Order ${id}`, section: '/runs', ...now, main });
}

const FOUND = [
  ['absent', 'at the source, not here'],
  ['different', 'different here'],
  ['extra', 'here, not at the source'],
  ['unreadable', 'could not be parsed'],
  ['unproven', 'parts that could not be compared'],
] as const;

const MOST_KEYS = 50;

/** What a verification found; nothing for other orders. */
function findings(report: unknown): Html | string {
  if (typeof report !== 'object' || report === null) return '';
  const found = FOUND.map(([name, words]) => {
    const keys = (report as Record<string, unknown>)[name];
    return { words, keys: Array.isArray(keys) ? keys.map(String) : [] };
  }).filter(({ keys }) => keys.length > 0);
  if (found.length === 0) return card('What it found', html`<p>No difference.</p>`);
  return card(
    'What it found',
    html`<dl class="kv">${found.map(
      ({ words, keys }) =>
        html`<dt>${words}</dt><dd>${count(keys.length)}: ${keys.slice(0, MOST_KEYS).join(', ')}${keys.length > MOST_KEYS ? ` and ${plural(keys.length - MOST_KEYS, 'other')}` : ''}</dd>`,
    )}</dl>`,
  );
}

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
