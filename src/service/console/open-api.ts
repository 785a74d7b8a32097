import { z } from 'zod';
import { overviewSchema, sourceSchema } from './status-schema.ts';

const text = (description: string) => ({ description, content: { 'text/plain': { schema: { type: 'string' } } } });

/** A path that only answers. Without `isOpen`, it needs the token. */
const path = (
  summary: string,
  responses: object,
  { isOpen = false, ...more }: { isOpen?: boolean; parameters?: object[] } = {},
) => ({
  get: {
    summary,
    ...(isOpen ? { security: [] } : {}),
    ...more,
    responses: isOpen
      ? responses
      : { ...responses, '401': text('SLUICE_TOKEN is set, and the request does not carry it.') },
  },
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
    '/status.json': path(
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
    '/metrics': path('Metrics for Prometheus', { '200': text('OpenMetrics text.') }),
    '/live': path('Server-sent events: one named change whenever the state changed', {
      '200': { description: 'The stream.', content: { 'text/event-stream': { schema: { type: 'string' } } } },
      '503': text('Too many listen already.'),
    }),
    '/healthz': path(
      'Whether the process answers and its loops make progress',
      { '200': text('ok'), '503': text('A loop is stalled.') },
      { isOpen: true },
    ),
    '/readyz': path(
      'Whether the database answers and is migrated',
      { '200': text('ok'), '503': text('Why it is not ready.') },
      { isOpen: true },
    ),
  },
};

function schemaOf(schema: z.ZodType): object {
  const { $schema: _, ...described } = z.toJSONSchema(schema);
  return described;
}
