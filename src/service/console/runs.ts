import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { stampMs } from '../../clock.ts';
import { RUN_STATES } from '../../warehouse/ledgers/runs.ts';
import { type PastRun, readRun, requestsOfRun, type SentRequest } from '../../warehouse/reports/run-history.ts';
import { count, moment, plural, shortDuration } from '../format.ts';
import type { Html } from '../html-document.ts';
import { type ConsoleParts, isId, nowIn, readRuns, sourceNamed, withoutSecrets } from './console-parts.ts';
import {
  card,
  choice,
  documentOf,
  facts,
  momentAndAge,
  type Now,
  nextStep,
  table,
  verdictSection,
} from './elements.ts';
import { endedOrders, openOrderList } from './orders.ts';
import { kindWord, runHistory, shownState } from './state-sections.ts';

const MOST_RUNS = 50;
const MOST_REQUESTS = 200;

export const runsRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/runs', async c => c.html(await runsPage(parts, c)))
    .get('/runs/:id', async (c, next) => {
      const { kysely } = parts.database;
      const id = c.req.param('id');
      const run = isId(id) ? await readRun(kysely, id) : null;
      const source = sourceNamed(parts, run?.source);
      if (run === null || source === undefined) return next();
      const requests = await requestsOfRun(kysely, run.id, MOST_REQUESTS);
      return c.html(runPage(withoutSecrets(parts, run), requests, await nowIn(parts, source)));
    });

/** What was read when, with which outcome and why; and the orders of people. */
async function runsPage(parts: ConsoleParts, c: Context): Promise<Html> {
  const sources = parts.sources.map(({ name }) => name);
  const resources = [...new Set(parts.sources.flatMap(({ jobs }) => [...jobs.keys()]))].sort();
  /** Empty: the list is not narrowed to one. */
  const given = <T extends string>(name: string, known: readonly T[]): T | '' =>
    known.find(each => each === c.req.query(name)) ?? '';
  const asked = {
    source: given('source', sources),
    resource: given('resource', resources),
    state: given('state', RUN_STATES),
  };
  const before = c.req.query('before') ?? '';
  const filter = {
    sources: asked.source === '' ? sources : [asked.source],
    resource: asked.resource || undefined,
    state: asked.state || undefined,
    before: isId(before) ? before : undefined,
  };
  const found = await readRuns(parts, filter, MOST_RUNS + 1);
  const runs = found.slice(0, MOST_RUNS);
  const olderThan = found.length > MOST_RUNS ? (runs.at(-1)?.id ?? null) : null;
  const now = await nowIn(parts, parts.sources[0]);
  const several = sources.length > 1;
  const older = new URLSearchParams({ ...asked, before: olderThan ?? '' });
  const choices = html`<form class="row filter" method="get" action="/runs">
${several ? choice('source', 'Source', ['', ...sources], asked.source, 'all sources') : ''}
${choice('resource', 'Resource', ['', ...resources], asked.resource, 'all resources')}
${choice('state', 'Outcome', ['', ...RUN_STATES], asked.state, 'any outcome')}
<button>Show</button></form>`;
  const isNarrowed = Object.values(asked).some(each => each !== '');
  const list =
    runs.length === 0
      ? html`<p class="soft after">${isNarrowed ? 'No run matches.' : 'Nothing has run yet. The first tick, or sluice sync, makes the first run.'}</p>`
      : runHistory(runs, now, several);
  const main = html`<div class="head"><h1>Runs and orders</h1><a class="btn main" href="/orders/new">New order</a></div>
${card('Orders under way', await openOrderList(parts, now))}
${card('Runs', [choices, list, olderThan === null ? '' : html`<p class="after"><a href="/runs?${older.toString()}">Older runs</a></p>`])}
${before === '' ? await endedOrders(parts, now) : ''}`;
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
function runPage(run: PastRun, requests: readonly SentRequest[], now: Now): Html {
  const { id, source, resource, kind, state, reason, next, orderId, slotAt } = run;
  const verdict = { ...shownState(state), text: `${resource}: ${kindWord(kind)}, ${state}` };
  const rest = html`${reason === null ? '' : html`<p>${reason}</p>`}${next === null ? '' : html`<div class="soft">${nextStep(next)}</div>`}`;
  const startedAt = stampMs(run.startedAt);
  const endedAt = run.endedAt === null ? null : stampMs(run.endedAt);
  const told: (readonly [string, Html | string])[] = [
    ['Source', html`<a href="/sources/${encodeURIComponent(source)}">${source}</a>`],
    ['Began', momentAndAge(startedAt, now)],
    ['Ended', endedAt === null ? 'not yet' : momentAndAge(endedAt, now)],
  ];
  if (endedAt !== null) told.push(['Took', shortDuration(endedAt - startedAt)]);
  if (slotAt !== null) told.push(['For the tick of', moment(slotAt, now.timeZone)]);
  if (orderId !== null) told.push(['For', html`<a href="/orders/${orderId}">order ${orderId}</a>`]);
  const main = html`<p class="crumb"><a href="/runs">Runs</a> / ${id}</p>
${verdictSection({ ...verdict, rest }, 'Outcome')}
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
