import { type Context, Hono } from 'hono';
import { databaseNow } from '../../../warehouse/database/now.ts';
import type { RunState } from '../../../warehouse/ledgers/runs.ts';
import { listEndedOrders, listRuns, readRun, requestsOfRun } from '../../../warehouse/reports/run-history.ts';
import { csrfField } from '../../access/form-guard.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { isId } from '../ids.ts';
import { readOpenOrders } from '../orders/read-orders.ts';
import { runPage } from './run-page.ts';
import { RUN_STATES, runsPage } from './runs-page.ts';

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
