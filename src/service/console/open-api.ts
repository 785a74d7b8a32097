import { z } from 'zod';
import { overviewSchema, sourceSchema } from './status-schema.ts';

const text = (description: string) => ({ description, content: { 'text/plain': { schema: { type: 'string' } } } });

/** An address that needs the token. */
const guarded = (summary: string, responses: object, more: object = {}) => ({
  get: {
    summary,
    ...more,
    responses: { ...responses, '401': text('SLUICE_TOKEN is set, and the request does not carry it.') },
  },
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
      'The state of the service, for programs. Everything but /healthz and /readyz needs the token, if one is set. Nothing here changes anything.',
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
      {
        parameters: [
          { name: 'source', in: 'query', required: false, schema: { type: 'string' }, description: 'Its name.' },
        ],
      },
    ),
    '/metrics': guarded('Metrics for Prometheus', { '200': text('OpenMetrics text.') }),
    '/live': guarded('Server-sent events: one named change whenever the state changed', {
      '200': { description: 'The stream.', content: { 'text/event-stream': { schema: { type: 'string' } } } },
      '503': text('Too many listen already.'),
    }),
    '/healthz': open('Whether the process answers and its loops make progress', 'A loop is stalled.'),
    '/readyz': open('Whether the database answers and is migrated', 'Why it is not ready.'),
  },
};

function schemaOf(schema: z.ZodType): object {
  const { $schema: _, ...described } = z.toJSONSchema(schema);
  return described;
}
