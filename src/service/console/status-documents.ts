import { Hono } from 'hono';
import { databaseNow } from '../../warehouse/database/now.ts';
import { conditionOf, resourceBadge, verdictOf } from '../status/condition.ts';
import { type FullState, type SourceState, sumOf } from '../status/source-state.ts';
import { type ConsoleParts, readSources, sourceNamed } from './console-parts.ts';
import { OPEN_API } from './open-api.ts';
import { readDetailedSource, type SourceDetail } from './source-page.ts';
import { overviewSchema, sourceSchema } from './status-schema.ts';

/** The state for programs: what the pages show. */
export const statusRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/openapi.json', c => c.json(OPEN_API))
    .get('/status.json', async c => {
      const name = c.req.query('source');
      const at = await databaseNow(parts.database);
      if (name === undefined) return c.json(overviewDocument(await readSources(parts), at));
      const source = sourceNamed(parts, name);
      if (source === undefined) return c.text(`There is no source "${name}".\n`, 404);
      const { state, detail } = await readDetailedSource(parts, source, at);
      if (detail === null) return c.text(`${state.unreadable}\n`, 503);
      return c.json(sourceDocument(state, detail, at));
    });

/** All that the overview shows. `at`: epoch milliseconds. */
const overviewDocument = (sources: readonly SourceState[], at: number) =>
  overviewSchema.decode({
    asOf: at,
    verdict: verdictOf(sources, at),
    sources: sources.map(source => ({
      ...source,
      state: conditionOf(source),
      reason: source.unreadable,
      isRead: source.reader !== null,
      rows: sumOf(source.resources, 'rows'),
      missing: sumOf(source.resources, 'missing'),
      quarantined: sumOf(source.resources, 'quarantined'),
      held: sumOf(source.resources, 'held'),
      requestsLastHour: source.requests,
      openOrders: source.orders.length,
    })),
  });

/** All that the page of a source shows. `at`: epoch milliseconds. */
const sourceDocument = (source: FullState, detail: SourceDetail, at: number) =>
  sourceSchema.decode({
    ...source,
    ...detail,
    asOf: at,
    verdict: verdictOf([source], at),
    state: conditionOf(source),
    budget: source.usage,
    resources: source.resources.map(row => {
      const delay = source.delays.find(({ resource }) => resource === row.resource);
      return {
        ...row,
        state: resourceBadge(row, source).text,
        newestChangeAt: row.newestChange,
        oldestProofAt: row.oldestProof,
        delay: delay
          ? {
              ...delay,
              expectedSeconds: delay.expected?.meanSeconds ?? null,
              within95Seconds: delay.expected?.within95Seconds ?? null,
            }
          : null,
      };
    }),
    orders: source.orders.map(order => ({ ...order, ...order.progress, from: order.dateFrom, to: order.dateTo })),
    failures: source.recentFailures,
    calendar: [...detail.calendars].map(([resource, calendar]) => ({ resource, ...calendar })),
    requests: detail.requests.map(hour => ({ ...hour, hourAt: hour.at })),
  });
