import { Hono } from 'hono';
import { html } from 'hono/html';
import { groupBy } from '../../engine/group-by.ts';
import { parseSlice } from '../../engine/slices/slice.ts';
import { capitalized } from '../../errors.ts';
import { allOpenOrders, type ListedOrder, listOrders, type Order, readOrders } from '../../warehouse/ledgers/orders.ts';
import type { PastRun } from '../../warehouse/reports/run-history.ts';
import { count, plural } from '../format.ts';
import type { Html } from '../html-document.ts';
import { describeOrders, paceOf } from '../orders/order-cost.ts';
import { allows, CHANGES, changeOrder, isOrderChange, type OrderChange, rangeText } from '../orders/order-requests.ts';
import { namedText } from '../orders/refresh.ts';
import type { ServedSource } from '../status/served-source.ts';
import { meter } from './charts.ts';
import { type ConsoleParts, isId, nowIn, readRuns, sourceNamed, withoutSecrets } from './console-parts.ts';
import { ago, badge, card, documentOf, facts, momentAndAge, type Now, table, verdictSection } from './elements.ts';
import { outcome, runHistory, shownState } from './state-sections.ts';

const MOST_RUNS = 50;
const ENDED_ORDERS = 20;

/** One order, and what can be done to it. */
export function orderRoutes(parts: ConsoleParts): Hono {
  const { kysely } = parts.database;
  const find = async (id: string) => {
    const [order] = isId(id) ? await readOrders(kysely, [id]) : [];
    const source = sourceNamed(parts, order?.source);
    return order && source ? { order: withoutSecrets(parts, order), source } : null;
  };
  return new Hono()
    .get('/orders/:id', async (c, next) => {
      const found = await find(c.req.param('id'));
      if (found === null) return next();
      const { order, source } = found;
      const [shown] = await described(parts, source, [order]);
      if (shown === undefined) return next();
      const runs = await readRuns(parts, { sources: [source.name], orderId: order.id }, MOST_RUNS);
      return c.html(orderPage(shown, runs, await nowIn(parts, source)));
    })
    .post('/orders/:id/:change', async (c, next) => {
      const found = await find(c.req.param('id'));
      const change = c.req.param('change');
      if (found === null || !isOrderChange(change)) return next();
      await changeOrder(parts.database, found.order, change);
      // It may have ended meanwhile: its page shows how.
      return c.redirect(`/orders/${found.order.id}`, 303);
    });
}

/** How far it is, when it will be done, what it found. */
function orderPage(order: ShownOrder & Pick<Order, 'report'>, runs: readonly PastRun[], now: Now): Html {
  const { id, source, state, reason, createdAt, endedAt, requests } = order;
  const verdict = { ...shownState(state), text: `${capitalized(orderTitle(order))}: ${state}` };
  const main = html`<p class="crumb"><a href="/runs">Runs and orders</a> / ${id}</p>
${verdictSection({ ...verdict, rest: reason === null ? '' : html`<p>${reason}</p>` }, 'State')}
${endedAt === null ? card('Progress', [orderProgressBar(order, now), orderButtons(order)]) : ''}
${findings(order.report)}
${card(
  'Order',
  facts([
    ['Source', html`<a href="/sources/${encodeURIComponent(source)}">${source}</a>`],
    ['Created', momentAndAge(createdAt, now)],
    ['Ended', endedAt === null ? 'not yet' : momentAndAge(endedAt, now)],
    ['Requests', count(requests)],
  ]),
)}
${card('Its runs', runs.length === 0 ? html`<p class="soft">None yet.</p>` : runHistory(runs, now))}`;
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
  const told = ({ words, keys }: (typeof found)[number]) => {
    const more = keys.length > MOST_KEYS ? ` and ${plural(keys.length - MOST_KEYS, 'other')}` : '';
    return [words, `${count(keys.length)}: ${keys.slice(0, MOST_KEYS).join(', ')}${more}`] as const;
  };
  return card('What it found', found.length === 0 ? html`<p>No difference.</p>` : facts(found.map(told)));
}

/** The orders of all sources that have not ended, oldest first. */
export async function openOrderList(parts: ConsoleParts, now: Now): Promise<Html> {
  const names = parts.sources.map(({ name }) => name);
  const bySource = groupBy(await allOpenOrders(parts.database.kysely, names), order => order.source);
  const items = [];
  for (const source of parts.sources) {
    const open = bySource.get(source.name) ?? [];
    for (const order of open.length === 0 ? [] : await described(parts, source, open))
      items.push(html`<li><div class="head"><h3><a href="/orders/${order.id}">${names.length > 1 ? `${order.source} ` : ''}${orderTitle(order)}</a></h3>${badge(shownState(order.state))}</div>
${orderProgressBar(order, now)}${orderButtons(order)}</li>`);
  }
  if (items.length > 0) return html`<ul class="queue">${items}</ul>`;
  return html`<p class="soft">None. A backfill or a verification starts with a new order, which shows its cost first.</p>`;
}

const described = async <O extends ListedOrder>(
  { database }: ConsoleParts,
  source: ServedSource,
  orders: readonly O[],
) => describeOrders(database, { source: source.name, pace: paceOf(source.rules, await source.usage()) }, orders);

type ShownOrder = Awaited<ReturnType<typeof described<ListedOrder>>>[number];

/** The work, the resource, and what of it, as in `backfill of invoices, 2024-01-01 .. end` and `refresh of invoices, record 17`. */
function orderTitle(order: ListedOrder): string {
  const { kind, repair, resource, dateFrom, dateTo, targets } = order;
  const what = kind === 'verify' && repair ? 'repair' : kind;
  const range = dateFrom === null && dateTo === null ? '' : `, ${rangeText({ from: dateFrom, to: dateTo })}`;
  const named = targets.map(target => `, ${namedText(parseSlice(target))}`).join('');
  return `${what} of ${resource}${range}${named}`;
}

/** How much of it is proven, and when the rest will be. */
function orderProgressBar({ kind, progress, left, state }: ShownOrder, now: Now): Html {
  const { slices, proven, neverRead } = progress;
  if (kind === 'refresh') return html`<p class="soft">It comes before all other work, and takes some seconds.</p>`;
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

/** What can be done to it now. */
function orderButtons(order: Pick<Order, 'id' | 'state'>): Html | string {
  const changes = (Object.keys(CHANGES) as OrderChange[]).filter(change => allows(order, change));
  if (changes.length === 0) return '';
  return html`<div class="row after">${changes.map(
    change =>
      html`<form method="post" action="/orders/${order.id}/${change}"><button class="">${capitalized(change)}</button></form>`,
  )}</div>`;
}

/** The newest orders that have ended. */
export async function endedOrders(parts: ConsoleParts, now: Now): Promise<Html | string> {
  const names = parts.sources.map(({ name }) => name);
  const orders = await listOrders(parts.database.kysely, { sources: names, hasEnded: true }, ENDED_ORDERS);
  if (orders.length === 0) return '';
  const rows = orders.map(order => [
    html`<a href="/orders/${order.id}">${order.id}: ${names.length > 1 ? `${order.source} ` : ''}${orderTitle(order)}</a>`,
    order.endedAt === null ? '–' : ago(order.endedAt, now),
    count(order.requests),
    outcome(withoutSecrets(parts, order)),
  ]);
  const head = ['order', 'ended', 'requests', 'outcome'];
  return card(
    'Orders that have ended',
    table({ caption: 'Orders that have ended, newest first', head, right: [2], rows }),
  );
}
