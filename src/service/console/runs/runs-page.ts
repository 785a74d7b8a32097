import { html } from 'hono/html';
import type { ListedOrder, PastRun } from '../../../warehouse/reports/run-history.ts';
import { documentOf } from '../layout/document.ts';
import type { Html } from '../layout/html.ts';
import { endedOrders, openOrderList } from '../orders/order-list.ts';
import type { ShownOrder } from '../orders/read-orders.ts';
import type { Now } from '../parts/age.ts';
import { card } from '../parts/card.ts';
import { choice } from '../parts/form.ts';
import { runTable } from './run-table.ts';

/** What the list of runs is narrowed to; empty texts: not at all. */
export interface RunsAsked {
  readonly source: string;
  readonly resource: string;
  readonly state: string;
}

export const RUN_STATES = ['running', 'waiting', 'done', 'failed', 'stopped'] as const;

export interface RunsShown {
  readonly sources: readonly string[];
  readonly resources: readonly string[];
  readonly asked: RunsAsked;
  readonly runs: readonly PastRun[];
  /** The last of them where older ones follow. */
  readonly olderThan: string | null;
  readonly open: readonly ShownOrder[];
  readonly ended: readonly ListedOrder[];
  readonly csrf: Html;
  readonly hide: (text: string) => string;
}

/** What was read when, with which outcome and why; and the orders of people. */
export function runsPage(
  { sources, resources, asked, runs, olderThan, open, ended, csrf, hide }: RunsShown,
  now: Now,
): Html {
  const several = sources.length > 1;
  const older = new URLSearchParams({ ...asked, before: olderThan ?? '' });
  const filter = html`<form class="row filter" method="get" action="/runs">
${several ? choice('source', 'Source', ['', ...sources], asked.source, 'all sources') : ''}
${choice('resource', 'Resource', ['', ...resources], asked.resource, 'all resources')}
${choice('state', 'Outcome', ['', ...RUN_STATES], asked.state, 'any outcome')}
<button>Show</button></form>`;
  const isNarrowed = Object.values(asked).some(each => each !== '');
  const list =
    runs.length === 0
      ? html`<p class="soft after">${isNarrowed ? 'No run matches.' : 'Nothing has run yet. The first tick, or sluice sync, makes the first run.'}</p>`
      : runTable(runs, now, { several, hide });
  const main = html`<div class="head"><h1>Runs and orders</h1><a class="btn main" href="/orders/new">New order</a></div>
${card('Orders under way', open.length === 0 ? html`<p class="soft">None. A backfill or a verification starts with a new order, which shows its cost first.</p>` : openOrderList(open, now, { several, csrf }))}
${card('Runs', [filter, list, olderThan === null ? '' : html`<p class="after"><a href="/runs?${older.toString()}">Older runs</a></p>`])}
${ended.length === 0 ? '' : card('Orders that have ended', endedOrders(ended, now, { several, hide }))}`;
  return documentOf({ title: 'Runs and orders', section: '/runs', ...now, main });
}
