import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { stampMs } from '../../../clock.ts';
import type { RunState } from '../../../warehouse/ledgers/runs.ts';
import {
  listEndedOrders,
  listRuns,
  type PastRun,
  readRun,
  requestsOfRun,
  type SentRequest,
} from '../../../warehouse/reports/run-history.ts';
import { csrfField } from '../../access/form-guard.ts';
import { count, moment, plural, shortDuration } from '../../format.ts';
import { type ConsoleParts, isId, nowIn } from '../console-parts.ts';
import { ago, card, choice, documentOf, facts, type Html, icon, type Now, nextStep, table } from '../elements.ts';
import { endedOrders, openOrderList, readOpenOrders } from '../orders/order-list.ts';
import { kindWord, RUN_BADGES, runTable } from './run-table.ts';

const MOST_RUNS = 50;
const ENDED_ORDERS = 20;
const MOST_REQUESTS = 200;

export const runsRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/runs', async c => c.html(await runsPage(parts, c)))
    .get('/runs/:id', async (c, next) => {
      const { database, hide } = parts;
      const id = c.req.param('id');
      const run = isId(id) ? await readRun(database.kysely, id) : null;
      const source = parts.sources.find(({ name }) => name === run?.source);
      if (run === null || source === undefined) return next();
      const requests = await requestsOfRun(database.kysely, run.id, MOST_REQUESTS);
      return c.html(runPage(run, requests, await nowIn(parts, source), hide));
    });

/** What was read when, with which outcome and why; and the orders of people. */
async function runsPage(parts: ConsoleParts, c: Context): Promise<Html> {
  const { database, hide } = parts;
  const { kysely } = database;
  const sources = parts.sources.map(({ name }) => name);
  const resources = [...new Set(parts.sources.flatMap(({ jobs }) => [...jobs.keys()]))].sort();
  const states = Object.keys(RUN_BADGES);
  /** Empty: the list is not narrowed to one. */
  const given = (name: string, known: readonly string[]) => known.find(each => each === c.req.query(name)) ?? '';
  const asked = {
    source: given('source', sources),
    resource: given('resource', resources),
    state: given('state', states),
  };
  const before = c.req.query('before') ?? '';
  const filter = {
    sources: asked.source === '' ? sources : [asked.source],
    resource: asked.resource || undefined,
    state: (asked.state || undefined) as RunState | undefined,
    before: isId(before) ? before : undefined,
  };
  const found = await listRuns(kysely, filter, MOST_RUNS + 1);
  const runs = found.slice(0, MOST_RUNS);
  const olderThan = found.length > MOST_RUNS ? (runs.at(-1)?.id ?? null) : null;
  const open = await readOpenOrders(parts);
  const ended = before === '' ? await listEndedOrders(kysely, sources, ENDED_ORDERS) : [];
  const csrf = csrfField(c);
  const now = await nowIn(parts, parts.sources[0]);
  const several = sources.length > 1;
  const older = new URLSearchParams({ ...asked, before: olderThan ?? '' });
  const choices = html`<form class="row filter" method="get" action="/runs">
${several ? choice('source', 'Source', ['', ...sources], asked.source, 'all sources') : ''}
${choice('resource', 'Resource', ['', ...resources], asked.resource, 'all resources')}
${choice('state', 'Outcome', ['', ...states], asked.state, 'any outcome')}
<button>Show</button></form>`;
  const isNarrowed = Object.values(asked).some(each => each !== '');
  const list =
    runs.length === 0
      ? html`<p class="soft after">${isNarrowed ? 'No run matches.' : 'Nothing has run yet. The first tick, or sluice sync, makes the first run.'}</p>`
      : runTable(runs, now, { several, hide });
  const main = html`<div class="head"><h1>Runs and orders</h1><a class="btn main" href="/orders/new">New order</a></div>
${card('Orders under way', open.length === 0 ? html`<p class="soft">None. A backfill or a verification starts with a new order, which shows its cost first.</p>` : openOrderList(open, now, { several, csrf }))}
${card('Runs', [choices, list, olderThan === null ? '' : html`<p class="after"><a href="/runs?${older.toString()}">Older runs</a></p>`])}
${ended.length === 0 ? '' : card('Orders that have ended', endedOrders(ended, now, { several, hide }))}`;
  return documentOf({ title: 'Runs and orders', section: '/runs', ...now, main });
}

const COUNTERS = [
  ['requests', 'requests'],
  ['slices made equal', 'slices'],
  ['rows read', 'rowsRead'],
  ['new', 'inserted'],
  ['changed', 'updated'],
  ['unchanged', 'unchanged'],
  ['came back', 'revived'],
  ['went missing', 'missing'],
  ['deleted', 'deleted'],
  ['quarantined', 'quarantined'],
] as const;

/** What one run did, request by request as long as they are kept. */
function runPage(run: PastRun, requests: readonly SentRequest[], now: Now, hide: (text: string) => string): Html {
  const { id, source, resource, kind, state, reason, next, startedAt, endedAt, orderId, slotAt } = run;
  const shown = RUN_BADGES[state];
  const at = (stamp: string) =>
    html`${moment(stamp, now.timeZone)} <span class="soft">${ago(stampMs(stamp), now)}</span>`;
  const told: [string, Html | string][] = [
    ['Source', html`<a href="/sources/${encodeURIComponent(source)}">${source}</a>`],
    ['Began', at(startedAt)],
    ['Ended', endedAt === null ? 'not yet' : at(endedAt)],
    ...(endedAt === null ? [] : [['Took', shortDuration(stampMs(endedAt) - stampMs(startedAt))] as [string, string]]),
    ...(slotAt === null ? [] : [['For the tick of', moment(slotAt, now.timeZone)] as [string, string]]),
    ...(orderId === null ? [] : [['For', html`<a href="/orders/${orderId}">order ${orderId}</a>`] as [string, Html]]),
  ];
  const main = html`<p class="crumb"><a href="/runs">Runs</a> / ${id}</p>
<section class="verdict" aria-label="Outcome">${icon(shown.icon, shown.tone)}<div><h1>${resource}: ${kindWord(kind)}, ${shown.text}</h1>${reason === null ? '' : html`<p>${hide(reason)}</p>`}${next === null ? '' : html`<div class="soft">${nextStep(hide(next))}</div>`}</div></section>
<div class="grid two">${card('Run', facts(told))}
${card(
  'What it did',
  facts(
    COUNTERS.map(([name, counter]) => [name, count(run[counter])]),
    'kv end',
  ),
)}</div>
${card(
  'Its requests',
  requests.length === 0
    ? html`<p class="soft">None are listed: single requests are kept for a day.</p>`
    : table({
        caption: 'Requests of this run, newest first',
        head: ['request', 'granted', 'for', 'lane', 'status'],
        right: [4],
        rows: requests.map(each => [
          each.id,
          moment(each.grantedAt, now.timeZone),
          each.purpose ?? '–',
          each.lane,
          each.status === null ? '–' : String(each.status),
        ]),
      }),
  requests.length < run.requests ? `${count(requests.length)} of ${plural(run.requests, 'request')}` : '',
)}`;
  return documentOf({ title: `Run ${id}`, section: '/runs', ...now, main });
}
