import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { databaseNow } from '../../../warehouse/database/now.ts';
import type { RunState } from '../../../warehouse/ledgers/runs.ts';
import {
  type ListedOrder,
  listEndedOrders,
  listRuns,
  type PastRun,
  readRun,
  requestsOfRun,
} from '../../../warehouse/reports/run-history.ts';
import { csrfField } from '../../access/form-guard.ts';
import { type ConsoleParts, isId } from '../console-parts.ts';
import { documentOf } from '../document.ts';
import { card, choice, type Html, type Now } from '../elements.ts';
import { endedOrders, openOrderList } from '../orders/order-page.ts';
import { readOpenOrders, type ShownOrder } from '../orders/read-orders.ts';
import { runPage } from './run-page.ts';
import { runTable } from './run-table.ts';

const RUNS = 50;
const ENDED_ORDERS = 20;
const MOST_REQUESTS = 200;

export const runsRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/runs', async c => c.html(String(await runs(parts, c))))
    .get('/runs/:id', async (c, next) => {
      const { database, hide } = parts;
      const { kysely } = database;
      const id = c.req.param('id');
      const run = isId(id) ? await readRun(kysely, id) : null;
      const source = parts.sources.find(({ name }) => name === run?.source);
      if (run === null || source === undefined) return next();
      const now = { at: await databaseNow(database), timeZone: source.timeZone };
      return c.html(String(await runPage(run, await requestsOfRun(kysely, run.id, MOST_REQUESTS), now, hide)));
    });

async function runs(parts: ConsoleParts, c: Context) {
  const { database, sources, hide } = parts;
  const { kysely } = database;
  const names = sources.map(({ name }) => name);
  const resources = [...new Set(sources.flatMap(({ jobs }) => [...jobs.keys()]))].sort();
  const given = (name: string, known: readonly string[]) => known.find(each => each === c.req.query(name)) ?? '';
  const asked = {
    source: given('source', names),
    resource: given('resource', resources),
    state: given('state', RUN_STATES),
  };
  const before = c.req.query('before') ?? '';
  const found = await listRuns(
    kysely,
    {
      sources: asked.source === '' ? names : [asked.source],
      resource: asked.resource || undefined,
      state: (asked.state || undefined) as RunState | undefined,
      before: isId(before) ? before : undefined,
    },
    RUNS + 1,
  );
  const shown = found.slice(0, RUNS);
  return runsPage(
    {
      sources: names,
      resources,
      asked,
      runs: shown,
      olderThan: found.length > RUNS ? (shown.at(-1)?.id ?? null) : null,
      open: await readOpenOrders(parts),
      ended: before === '' ? await listEndedOrders(kysely, names, ENDED_ORDERS) : [],
      csrf: csrfField(c),
      hide,
    },
    { at: await databaseNow(database), timeZone: sources[0]?.timeZone ?? 'UTC' },
  );
}

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
