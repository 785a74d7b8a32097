import { Hono } from 'hono';
import { html } from 'hono/html';
import { capitalized } from '../../../errors.ts';
import { openOrders, readOrders } from '../../../warehouse/ledgers/orders.ts';
import { listRuns, type PastRun } from '../../../warehouse/reports/run-history.ts';
import { csrfField } from '../../access/form-guard.ts';
import { count, moment, plural } from '../../format.ts';
import { changeOrder, isOrderChange } from '../../orders/order-requests.ts';
import { type ConsoleParts, isId, nowIn } from '../console-parts.ts';
import { ago, card, documentOf, facts, type Html, icon, type Now } from '../elements.ts';
import { runTable } from '../runs/run-table.ts';
import {
  ORDER_BADGES,
  orderButtons,
  orderProgressBar,
  orderTitle,
  type ShownOrder,
  withProgress,
} from './order-list.ts';

const MOST_RUNS = 50;

/** One order, and what can be done to it. */
export function orderRoutes(parts: ConsoleParts): Hono {
  const { database, sources, hide } = parts;
  const { kysely } = database;
  const find = async (id: string) => {
    const [order] = isId(id) ? await readOrders(kysely, [id]) : [];
    const source = sources.find(({ name }) => name === order?.source);
    return order && source ? { order, source } : null;
  };
  return new Hono()
    .get('/orders/:id', async (c, next) => {
      const found = await find(c.req.param('id'));
      if (found === null) return next();
      const { order, source } = found;
      const sharing = (await openOrders(kysely, source.name)).length;
      const [shown] = await withProgress(database, source, [order], Math.max(sharing, 1));
      if (shown === undefined) return next();
      const runs = await listRuns(kysely, { sources: [source.name], orderId: order.id }, MOST_RUNS);
      return c.html(orderPage(shown, { runs, csrf: csrfField(c), hide }, await nowIn(parts, source)));
    })
    .post('/orders/:id/:change', async (c, next) => {
      const found = await find(c.req.param('id'));
      const change = c.req.param('change');
      if (found === null || !isOrderChange(change)) return next();
      await changeOrder(database, found.order, change);
      // It may have ended meanwhile: its page shows how.
      return c.redirect(`/orders/${found.order.id}`, 303);
    });
}

/** How far it is, when it will be done, what it found. */
function orderPage(
  order: ShownOrder,
  { runs, csrf, hide }: { runs: readonly PastRun[]; csrf: Html; hide: ConsoleParts['hide'] },
  now: Now,
): Html {
  const { id, source, state, reason, createdAt, endedAt, requests } = order;
  const shown = ORDER_BADGES[state];
  const at = (ms: number) => html`${moment(ms, now.timeZone)} <span class="soft">${ago(ms, now)}</span>`;
  const main = html`<p class="crumb"><a href="/runs">Runs and orders</a> / ${id}</p>
<section class="verdict" aria-label="State" aria-live="polite">${icon(shown.icon, shown.tone)}<div><h1>${capitalized(orderTitle(order))}: ${shown.text}</h1>${reason === null ? '' : html`<p>${hide(reason)}</p>`}</div></section>
${endedAt === null ? card('Progress', [orderProgressBar(order, now), orderButtons(order, csrf)]) : ''}
${findings(order.report)}
${card(
  'Order',
  facts([
    ['Source', html`<a href="/sources/${encodeURIComponent(source)}">${source}</a>`],
    ['Created', at(createdAt)],
    ['Ended', endedAt === null ? 'not yet' : at(endedAt)],
    ['Requests', count(requests)],
  ]),
)}
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
  const told = ({ words, keys }: (typeof found)[number]) => {
    const more = keys.length > MOST_KEYS ? ` and ${plural(keys.length - MOST_KEYS, 'other')}` : '';
    return [words, `${count(keys.length)}: ${keys.slice(0, MOST_KEYS).join(', ')}${more}`] as const;
  };
  return card('What it found', found.length === 0 ? html`<p>No difference.</p>` : facts(found.map(told)));
}
