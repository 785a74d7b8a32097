import { html } from 'hono/html';
import { count, durationText, moment, plural } from '../../format.ts';
import type { KnownPart, ReadingEstimate } from '../../orders/order-cost.ts';
import { rangeText } from '../../orders/order-range.ts';
import { documentOf } from '../document.ts';
import { ago, card, choice, day, type Html, type Now, table } from '../elements.ts';

/** What an order can do, by the value of its field. */
export const WORK = {
  backfill: 'Backfill: read it again',
  verify: 'Verify: compare, change nothing',
  repair: 'Repair: compare, and make it equal',
} as const;

export type Work = keyof typeof WORK;

/** The fields of the form, as they were sent. */
export interface OrderForm {
  readonly source: string;
  readonly resource: string;
  readonly work: Work;
  readonly from: string;
  readonly to: string;
}

/** What the order would cost, as far as known. */
export interface Price {
  readonly estimate: ReadingEstimate;
  /** Requests left in this window, and the limit. */
  readonly free: number;
  readonly limit: number;
  /** Epoch milliseconds; null while a part was never read. */
  readonly finishesAt: number | null;
}

export interface NewOrder {
  readonly sources: readonly string[];
  readonly resources: readonly string[];
  readonly form: OrderForm;
  /** Null until the form was filled in. */
  readonly price: Price | null;
  /** Why the form cannot be used as it is. */
  readonly trouble: string | null;
  readonly csrf: Html;
}

/** Choose, see the price, then start. */
export function newOrderPage({ sources, resources, form, price, trouble, csrf }: NewOrder, now: Now): Html {
  const main = html`<p class="crumb"><a href="/runs">Runs and orders</a> / New</p>
<h1>New order</h1>
${card(
  'What to read',
  html`<form method="get" action="/orders/new" class="fields">
${sources.length > 1 ? choice('source', 'Source', sources, form.source) : html`<input type="hidden" name="source" value="${form.source}">`}
${choice('resource', 'Resource', resources, form.resource)}
${choice('work', 'Work', Object.keys(WORK), form.work, '', value => WORK[value as Work])}
${day('from', 'First day (backfill)', form.from)}
${day('to', 'Last day (backfill)', form.to)}
<button${price === null ? html` class="main"` : ''}>Show the cost</button></form>
${trouble === null ? '' : html`<p class="bad after" role="alert">${trouble}</p>`}`,
)}
${price === null ? '' : priceCard(price, form, now, csrf)}`;
  return documentOf({ title: 'New order', section: '/runs', ...now, main, isStill: true });
}

const MOST_PARTS = 40;

function priceCard({ estimate, free, limit, finishesAt }: Price, form: OrderForm, now: Now, csrf: Html): Html {
  const { parts, requests, rows, neverRead } = estimate;
  const { source, resource, work, from, to } = form;
  const cost = requests > 0 ? `about ${plural(requests, 'request')}` : 'not known yet';
  const title = `${work === 'backfill' ? 'Backfill' : work === 'verify' ? 'Verify' : 'Repair'} ${resource}, ${rangeText({ from: from || null, to: to || null })}`;
  const finish =
    finishesAt === null
      ? `${plural(neverRead, 'part')} of ${count(parts.length)} ${neverRead === 1 ? 'was' : 'were'} never read, so the cost and the end are not known yet.`
      : html`Done ${ago(finishesAt, now)}, at about ${moment(finishesAt, now.timeZone).slice(0, 16)}, if nothing else is asked for.`;
  const hidden = Object.entries({ source, resource, work, from, to });
  return card(title, [
    html`<p class="big">${requests > 0 ? html`<small>about</small> ${count(requests)} <small>${requests === 1 ? 'request' : 'requests'}</small>` : html`<small>Cost not known yet</small>`}</p>
<p>${finish}</p>
<p class="soft">${plural(rows, 'row')} in ${plural(parts.length, 'part')}. ${count(free)} of ${count(limit)} requests are left in this window; scheduled work goes first.</p>
<form method="post" action="/orders" class="after">${csrf}${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="main">Start <span class="cost">${cost}</span></button></form>`,
    html`<details><summary>The parts</summary>${table({
      caption: 'Parts that would be read',
      head: ['part', 'last proven', 'rows', 'requests'],
      right: [2, 3],
      rows: parts.slice(0, MOST_PARTS).map(part => partRow(part, now)),
    })}${parts.length > MOST_PARTS ? html`<p class="soft">and ${count(parts.length - MOST_PARTS)} more</p>` : ''}</details>`,
  ]);
}

const partRow = ({ slice, provenAt, rows, requests }: KnownPart, now: Now): (string | Html)[] => [
  slice,
  provenAt === null ? 'never read' : html`${durationText((now.at - provenAt) / 1000)} ago`,
  rows === null ? '?' : count(rows),
  requests === null ? '?' : count(requests),
];
