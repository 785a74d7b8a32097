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

/** Adds the schema to the components if it has an id, and returns the schema or a reference to it. */
type SchemaOf = (schema: z.ZodType, io?: 'input' | 'output') => Json;

/** The body of `GET /openapi.json`: an OpenAPI 3.1 description built from the schemas that the sandbox itself uses. */
export function describeApi(): Json {
  const schemas: Json = {};
  const schemaOf: SchemaOf = (schema, io = 'output') => toSchema(schema, io, schemas);
  const responses = describeErrors(schemaOf);
  const paths = describePaths(schemaOf);
  const webhooks = describeWebhooks(schemaOf);
  return {
    openapi: '3.1.0',
    info: { title: 'Business Management Service REST API', version: '2', description: ABOUT },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { query: [] }],
    paths,
    webhooks,
    components: { schemas, headers: RATE_HEADERS, responses, securitySchemes: SECURITY_SCHEMES },
  };
}

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer' },
  query: {
    type: 'apiKey',
    in: 'query',
    name: 'api_key',
    description: 'Requires the path in the parameter ng: /?api_key=<API_KEY>&ng=api/v2/customers',
  },
};

function describeErrors(schemaOf: SchemaOf): Json {
  const error = (description: string, schema: z.ZodType, open?: string) =>
    describeResponse(description, schemaOf(schema), open);
  return {
    400: error('Bad Request', validationEnvelope, CONDITION),
    401: error('Unauthorized: the key is invalid or lacks permission', errorEnvelope, CONDITION),
    404: error('Not Found', errorEnvelope, CONDITION),
    429: error('Too Many Requests', errorEnvelope, 'how long to wait (here: Retry-After in seconds)'),
    500: error('Server Error', errorEnvelope),
  };
}

function describeResponse(description: string, schema: Json, open?: string): Json {
  const headers = Object.keys(RATE_HEADERS).map(name => [name, { $ref: `#/components/headers/${name}` }]);
  return {
    description,
    headers: Object.fromEntries(headers),
    content: { 'application/json': { schema } },
    ...openPoint(open),
  };
}

function describePaths(schemaOf: SchemaOf): Json {
  const paths: Record<string, Json> = {};
  for (const [id, operation] of Object.entries(operations))
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method]: describeOperation(id, operation, schemaOf),
    };
  return paths;
}

function describeOperation(operationId: string, operation: Operation, schemaOf: SchemaOf): Json {
  const { status, body } = operation;
  return {
    operationId,
    summary: operation.summary,
    ...openPoint(operation.undocumented),
    parameters: operation.parameters.map(parameter => describeParameter(parameter, schemaOf)),
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body, 'input') } } },
    }),
    responses: {
      [status]: describeResponse(status === 200 ? 'Success' : 'Created', schemaOf(operation.response)),
      ...Object.fromEntries(
        [...operation.errors, 401, 429, 500].map(error => [error, { $ref: `#/components/responses/${error}` }]),
      ),
    },
  };
}

function describeParameter(parameter: Parameter, schemaOf: SchemaOf): Json {
  return {
    name: parameter.name,
    in: parameter.in,
    required: parameter.in === 'path',
    schema: schemaOf(parameter.schema, 'input'),
    ...openPoint(parameter.undocumented),
  };
}

function describeWebhooks(schemaOf: SchemaOf): Json {
  const describe = (event: (typeof eventKinds)[number]) => ({
    post: {
      summary: `Sent to every webhook registered for ${event}`,
      ...undocumented('payload, headers, signing, retries and other events'),
      requestBody: { content: { 'application/json': { schema: schemaOf(webhookMessage(event)) } } },
      responses: { '2XX': { description: 'Received' } },
    },
  });
  return Object.fromEntries(eventKinds.map(event => [event, describe(event)]));
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
