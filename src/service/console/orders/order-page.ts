import { html } from 'hono/html';
import { capitalized } from '../../../errors.ts';
import type { PastRun } from '../../../warehouse/reports/run-history.ts';
import { count, moment, plural } from '../../format.ts';
import { documentOf } from '../layout/document.ts';
import type { Html } from '../layout/html.ts';
import { icon } from '../layout/icons.ts';
import { ago, type Now } from '../parts/age.ts';
import { card } from '../parts/card.ts';
import { runTable } from '../runs/run-table.ts';
import { orderButtons, orderProgressBar, orderState, orderTitle } from './order-list.ts';
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
