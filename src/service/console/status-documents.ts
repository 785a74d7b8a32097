import { Hono } from 'hono';
import { z } from 'zod';
import { databaseNow } from '../../warehouse/database/now.ts';
import { programAnswer, programError, programQuery, QUERY_ERRORS } from '../answers/answer-program.ts';
import { conditionOf, resourceBadge, verdictOf } from '../status/condition.ts';
import { type FullState, type SourceState, sumOf } from '../status/source-state.ts';
import { type ConsoleParts, readSources, sourceNamed } from './console-parts.ts';
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

const text = (description: string, type = 'text/plain') => ({
  description,
  content: { [type]: { schema: { type: 'string' } } },
});
const parameter = (name: string, type: string, description: string) => ({
  name,
  in: 'query',
  required: false,
  schema: { type },
  description,
});

const UNAUTHORIZED = { '401': text('SLUICE_TOKEN is set, and the request does not carry it.') };
const BY_SOURCE = parameter('source', 'string', 'Its name.');
const STREAM = text('The stream.', 'text/event-stream');

/** An address that needs the token. */
const guarded = (summary: string, responses: object, more: object = {}) => ({
  get: { summary, ...more, responses: { ...responses, ...UNAUTHORIZED } },
});
const open = (summary: string, no: string) => ({
  get: { summary, security: [], responses: { '200': text('ok'), '503': text(no) } },
});

/** What programs may ask the service, as OpenAPI 3.1. */
export const OPEN_API = {
  openapi: '3.1.0',
  info: {
    title: 'Sluice',
    version: '1',
    description:
      'The state of the service, for programs. Everything but /healthz and /readyz needs the token, if one is set. Nothing here changes data; POST /query with maxAge spends requests.',
  },
  security: [{ token: [] }],
  components: {
    securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'SLUICE_TOKEN' } },
    schemas: { Overview: schemaOf(overviewSchema), Source: schemaOf(sourceSchema) },
  },
  paths: {
    '/status.json': guarded(
      'The state of all sources or, in detail, of one',
      {
        '200': {
          description: 'Without source: Overview. With source: Source.',
          content: {
            'application/json': {
              schema: { oneOf: [{ $ref: '#/components/schemas/Overview' }, { $ref: '#/components/schemas/Source' }] },
            },
          },
        },
        '404': text('There is no such source.'),
        '503': text('The state of the source cannot be read; the text says why.'),
      },
      { parameters: [BY_SOURCE] },
    ),
    '/query': {
      post: {
        summary: 'The answer to a query, as fresh as it is asked for',
        requestBody: { required: true, content: { 'application/json': { schema: schemaOf(programQuery, 'input') } } },
        responses: {
          '200': { description: 'The answer.', content: { 'application/json': { schema: schemaOf(programAnswer) } } },
          ...Object.fromEntries(
            Object.entries(QUERY_ERRORS).map(([status, description]) => [
              status,
              { description, content: { 'application/json': { schema: schemaOf(programError) } } },
            ]),
          ),
        },
      },
    },
    '/metrics': guarded('Metrics for Prometheus', { '200': text('OpenMetrics text.') }),
    '/live': guarded('Server-sent events: an event named change whenever the state changes', {
      '200': STREAM,
      '503': text('Too many clients are listening.'),
    }),
    '/changes': guarded(
      'Server-sent events: an event named change for each change of a row, in order, with its number as id',
      {
        '200': STREAM,
        '400': text('from is no number.'),
        '404': text('There is no such source.'),
        '410': text('The changes from that number on are no longer kept, or were never made in this database.'),
        '503': text('Too many clients are listening.'),
      },
      { parameters: [BY_SOURCE, parameter('from', 'integer', 'The first number.')] },
    ),
    '/healthz': open('Whether the process answers and its loops make progress', 'A loop is stalled.'),
    '/readyz': open('Whether the database answers and is migrated', 'Why it is not ready.'),
  },
};

function schemaOf(schema: z.ZodType, io: 'input' | 'output' = 'output'): object {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io });
  return described;
}
