import { z } from 'zod';
import { eventKinds } from '../changes/edits.ts';
import { rowSchemas, undocumented } from '../data/rows.ts';
import { errorEnvelope, validationEnvelope } from '../envelopes/envelope-schemas.ts';
import { type Operation, operations, type Parameter } from './operations.ts';

type Json = Record<string, unknown>;

const ABOUT = `The documented API as the sandbox plays it with its likely behaviours; with other variants its answers differ from this.
Whatever the API's document does not show is marked by x-undocumented, which says what it is: no client may rely on it.`;

const RATE_HEADERS = {
  'X-RateLimit-Limit': { description: 'Requests an hour and key', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'Requests left', schema: { type: 'integer' } },
  'X-RateLimit-Reset': {
    description: 'Here: when the next request is free again, in seconds since the epoch',
    schema: { type: 'integer' },
    ...undocumented('its unit and meaning'),
  },
};

const CONDITION = 'which condition goes with which status';

/** What `GET /openapi.json` answers: an OpenAPI 3.1 description made from the schemas that the sandbox itself goes by. */
export function describeApi(): Json {
  const schemas: Json = {};
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output' = 'output') => toSchema(schema, io, schemas);
  const answerOf = (description: string, schema: z.ZodType, more: Json = {}) => ({
    description,
    headers: Object.fromEntries(
      Object.keys(RATE_HEADERS).map(name => [name, { $ref: `#/components/headers/${name}` }]),
    ),
    content: { 'application/json': { schema: schemaOf(schema) } },
    ...more,
  });
  const responses = {
    400: answerOf('Bad Request', validationEnvelope, undocumented(CONDITION)),
    401: answerOf('Unauthorized: the key is invalid or may not do this', errorEnvelope, undocumented(CONDITION)),
    404: answerOf('Not Found', errorEnvelope, undocumented(CONDITION)),
    429: answerOf('Too Many Requests', errorEnvelope, undocumented('how long to wait (here: Retry-After in seconds)')),
    500: answerOf('Server Error', errorEnvelope),
  };
  const parameterOf = (parameter: Parameter) => ({
    name: parameter.name,
    in: parameter.in,
    required: parameter.in === 'path',
    schema: schemaOf(parameter.schema, 'input'),
    ...mark(parameter.undocumented),
  });
  const operationOf = (operationId: string, operation: Operation) => ({
    operationId,
    summary: operation.summary,
    ...mark(operation.undocumented),
    parameters: operation.parameters.map(parameterOf),
    ...(operation.body && {
      requestBody: { required: true, content: { 'application/json': { schema: schemaOf(operation.body, 'input') } } },
    }),
    responses: {
      [operation.status]: answerOf(operation.status === 200 ? 'Success' : 'Created', operation.answer),
      ...Object.fromEntries(
        [...operation.refusals, 401, 429, 500].map(status => [status, { $ref: `#/components/responses/${status}` }]),
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
          summary: `Sent to every registered address that asked for ${event}`,
          ...undocumented('payload, headers, signing, retries and other events'),
          requestBody: { content: { 'application/json': { schema: schemaOf(messageOf(event)) } } },
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
          description: 'With the path in the parameter ng: /?api_key=<API_KEY>&ng=api/v2/customers',
        },
      },
    },
  };
}

function messageOf(event: (typeof eventKinds)[number]): z.ZodType {
  const { invoices, transactions } = rowSchemas;
  const data = event === 'invoice.created' ? invoices : z.union([invoices, transactions]);
  return z.object({ event: z.literal(event), data });
}

function mark(what: string | undefined): Json {
  return what === undefined ? {} : undocumented(what);
}

/** JSON Schema of a zod schema; what has an id of its own goes to `schemas` and is referred to. */
function toSchema(schema: z.ZodType, io: 'input' | 'output', schemas: Json): Json {
  const {
    $schema: _,
    $defs,
    ...own
  } = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => simplify(jsonSchema) });
  Object.assign(schemas, JSON.parse(JSON.stringify($defs ?? {}).replaceAll('"#/$defs/', '"#/components/schemas/')));
  return JSON.parse(JSON.stringify(own).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

/** Takes out what is true of zod and not of the API: the bounds of a double, patterns beside formats, closed objects. */
function simplify(schema: z.core.JSONSchema.BaseSchema): void {
  delete schema.id;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.format !== undefined) delete schema.pattern;
  if (schema.additionalProperties === false) delete schema.additionalProperties;
}
