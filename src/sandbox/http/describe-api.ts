import { z } from 'zod';
import { eventKinds } from '../changes/edits.ts';
import { rowSchemas, undocumented } from '../data/rows.ts';
import { errorEnvelope, validationEnvelope } from '../envelopes/envelope-schemas.ts';
import { type Operation, operations, type Parameter } from './operations.ts';

type Json = Record<string, unknown>;

const ABOUT = `The documented API with the default variants of the sandbox; under other variants its responses differ.
x-undocumented names what the API document leaves open at that place: no client may rely on it.`;

const RATE_HEADERS = {
  'X-RateLimit-Limit': { description: 'Requests per hour and key', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'Requests left', schema: { type: 'integer' } },
  'X-RateLimit-Reset': {
    description: 'Here: when the next request becomes available, in seconds since the epoch',
    schema: { type: 'integer' },
    ...undocumented('its unit and meaning'),
  },
};

const CONDITION = 'which conditions lead to this status';

/** The body of `GET /openapi.json`: an OpenAPI 3.1 description built from the schemas that the sandbox itself uses. */
export function describeApi(): Json {
  const schemas: Json = {};
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output' = 'output') => toSchema(schema, io, schemas);
  const responseOf = (description: string, schema: z.ZodType, more: Json = {}) => ({
    description,
    headers: Object.fromEntries(
      Object.keys(RATE_HEADERS).map(name => [name, { $ref: `#/components/headers/${name}` }]),
    ),
    content: { 'application/json': { schema: schemaOf(schema) } },
    ...more,
  });
  const responses = {
    400: responseOf('Bad Request', validationEnvelope, undocumented(CONDITION)),
    401: responseOf('Unauthorized: the key is invalid or lacks permission', errorEnvelope, undocumented(CONDITION)),
    404: responseOf('Not Found', errorEnvelope, undocumented(CONDITION)),
    429: responseOf(
      'Too Many Requests',
      errorEnvelope,
      undocumented('how long to wait (here: Retry-After in seconds)'),
    ),
    500: responseOf('Server Error', errorEnvelope),
  };
  const parameterOf = (parameter: Parameter) => ({
    name: parameter.name,
    in: parameter.in,
    required: parameter.in === 'path',
    schema: schemaOf(parameter.schema, 'input'),
    ...openPoint(parameter.undocumented),
  });
  const operationOf = (operationId: string, operation: Operation) => ({
    operationId,
    summary: operation.summary,
    ...openPoint(operation.undocumented),
    parameters: operation.parameters.map(parameterOf),
    ...(operation.body && {
      requestBody: { required: true, content: { 'application/json': { schema: schemaOf(operation.body, 'input') } } },
    }),
    responses: {
      [operation.status]: responseOf(operation.status === 200 ? 'Success' : 'Created', operation.response),
      ...Object.fromEntries(
        [...operation.errors, 401, 429, 500].map(status => [status, { $ref: `#/components/responses/${status}` }]),
      ),
    },
  });

  const paths: Record<string, Json> = {};
  for (const [id, operation] of Object.entries(operations))
    paths[operation.path] = { ...paths[operation.path], [operation.method]: operationOf(id, operation) };
  const webhooks = Object.fromEntries(
    eventKinds.map(event => [
      event,
      {
        post: {
          summary: `Sent to every webhook registered for ${event}`,
          ...undocumented('payload, headers, signing, retries and other events'),
          requestBody: { content: { 'application/json': { schema: schemaOf(webhookMessage(event)) } } },
          responses: { '2XX': { description: 'Received' } },
        },
      },
    ]),
  );
  return {
    openapi: '3.1.0',
    info: { title: 'Business Management Service REST API', version: '2', description: ABOUT },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { query: [] }],
    paths,
    webhooks,
    components: {
      schemas,
      headers: RATE_HEADERS,
      responses,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        query: {
          type: 'apiKey',
          in: 'query',
          name: 'api_key',
          description: 'Requires the path in the parameter ng: /?api_key=<API_KEY>&ng=api/v2/customers',
        },
      },
    },
  };
}

function webhookMessage(event: (typeof eventKinds)[number]): z.ZodType {
  const { invoices, transactions } = rowSchemas;
  const data = event === 'invoice.created' ? invoices : z.union([invoices, transactions]);
  return z.object({ event: z.literal(event), data });
}

function openPoint(open: string | undefined): Json {
  return open === undefined ? {} : undocumented(open);
}

/** JSON Schema of a zod schema. Schemas with an id are added to `schemas` and referenced. */
function toSchema(schema: z.ZodType, io: 'input' | 'output', schemas: Json): Json {
  const {
    $schema: _,
    $defs,
    ...own
  } = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => simplify(jsonSchema) });
  Object.assign(schemas, JSON.parse(JSON.stringify($defs ?? {}).replaceAll('"#/$defs/', '"#/components/schemas/')));
  return JSON.parse(JSON.stringify(own).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

/** Removes what zod adds and the API does not say: the bounds of a double, patterns beside formats, closed objects. */
function simplify(schema: z.core.JSONSchema.BaseSchema): void {
  delete schema.id;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.format !== undefined) delete schema.pattern;
  if (schema.additionalProperties === false) delete schema.additionalProperties;
}
