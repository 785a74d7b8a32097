import { z } from 'zod';
import { rowSchemas, undocumented } from '../data/rows.ts';
import { listEnvelope, successEnvelope } from '../envelopes/envelope-schemas.ts';
import { type ListedResource, listedResources, listShapes } from '../lists/list-shapes.ts';
import { batchBody, type Creatable, createBodies, customerBody, webhookBody } from './request-bodies.ts';

export interface Parameter {
  name: string;
  in: 'query' | 'path';
  schema: z.ZodType;
  /** What the API document leaves open; undefined if nothing. */
  undocumented?: string | undefined;
}

/** One method of one path, as the API document describes it and the sandbox serves it. */
export interface Operation {
  method: 'get' | 'post' | 'put' | 'delete';
  path: string;
  summary: string;
  parameters: readonly Parameter[];
  body?: z.ZodType;
  /** The status and body of success. */
  status: 200 | 201;
  response: z.ZodType;
  /** Error statuses, beside those of every request. */
  errors: readonly (400 | 404)[];
  undocumented?: string | undefined;
}

const BODY = 'the body of the response, beyond its envelope';
const REQUIRED = 'which fields are required (here: those without which a row makes no sense), and their allowed values';

const singular = (resource: string) => resource.slice(0, -1);
const article = (noun: string) => `${/^[aio]/.test(noun) ? 'an' : 'a'} ${noun}`;
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** By operation id. */
export const operations: Readonly<Record<string, Operation>> = {
  ...Object.fromEntries(listedResources.map(resource => [`list${capital(resource)}`, list(resource)])),
  ...Object.fromEntries(
    (Object.keys(createBodies) as Creatable[]).map(resource => [
      `create${capital(singular(resource))}`,
      create(resource),
    ]),
  ),
  getCustomer: { ...customer('get', 'Get a customer'), undocumented: undefined },
  updateCustomer: {
    ...customer('put', 'Update a customer'),
    body: customerBody.partial().meta(undocumented('whether omitted fields keep their values (here: they do)')),
    errors: [400, 404],
  },
  deleteCustomer: { ...customer('delete', 'Delete a customer'), response: successEnvelope(z.object({ id: z.int() })) },
  createCustomers: {
    method: 'post',
    path: '/api/v2/batch/customers',
    summary: 'Create several customers',
    parameters: [],
    // Described with the schema of an entry; each entry is validated on its own, so one invalid entry need not fail the rest.
    body: batchBody.extend({ customers: z.array(customerBody).min(1) }).meta(undocumented(REQUIRED)),
    status: 201,
    response: successEnvelope(
      z.array(
        z.union([
          z.object({ index: z.int(), success: z.literal(true), data: rowSchemas.customers }),
          z.object({ index: z.int(), success: z.literal(false), errors: z.record(z.string(), z.string()) }),
        ]),
      ),
    ),
    errors: [400],
    undocumented: 'the response, and whether valid entries are created when others are invalid',
  },
  financialReport: {
    method: 'get',
    path: '/api/v2/reports/financial',
    summary: 'Income, expenses, profit and outstanding invoices of a month or a year',
    parameters: [
      { name: 'year', in: 'query', schema: z.int(), undocumented: 'its default (here: the current year)' },
      { name: 'month', in: 'query', schema: z.int().min(1).max(12) },
    ],
    status: 200,
    response: successEnvelope(
      z
        .object({ income: z.number(), expenses: z.number(), profit: z.number(), outstanding_invoices: z.number() })
        .meta({ id: 'FinancialSummary', ...undocumented('which rows are included, and by which date') }),
    ),
    errors: [400],
  },
  registerWebhook: {
    method: 'post',
    path: '/api/v2/webhooks',
    summary: 'Register a webhook',
    parameters: [],
    body: webhookBody.meta(undocumented('events other than invoice.created and payment.received')),
    status: 201,
    response: successEnvelope(z.object({ id: z.int(), url: z.string(), events: z.array(z.string()) })),
    errors: [400],
    undocumented: BODY,
  },
};

function list(resource: ListedResource): Operation {
  const { state, owner, dated, searched, invented } = listShapes[resource];
  const paged = resource === 'customers';
  const pagingOpen = paged ? undefined : 'whether this list is paged';
  const dateOpen = 'the date format, and whether the day itself is included';
  const query = (name: string, schema: z.ZodType, open?: string): Parameter => ({
    name,
    in: 'query',
    schema,
    undocumented: open,
  });
  return {
    method: 'get',
    path: `/api/v2/${resource}`,
    summary: `List ${resource}`,
    parameters: [
      query('page', z.int().min(1), pagingOpen),
      query('limit', z.int().min(1).default(20), pagingOpen ?? 'the maximum (here: clamped to 100)'),
      ...(searched ? [query('search', z.string())] : []),
      ...(state ? [query(state.name, z.enum(state.documented))] : []),
      ...(owner ? [query(owner, z.int())] : []),
      ...(dated ? [query('date_from', z.iso.date(), dateOpen), query('date_to', z.iso.date(), dateOpen)] : []),
    ],
    status: 200,
    response: listEnvelope(rowSchemas[resource], paged),
    errors: dated ? [400] : [],
    undocumented: invented ? 'everything but the path, including whether the list exists' : undefined,
  };
}

function create(resource: Creatable): Operation {
  return {
    method: 'post',
    path: `/api/v2/${resource}`,
    summary: `Create ${article(singular(resource))}`,
    parameters: [],
    body: createBodies[resource].meta(undocumented(REQUIRED)),
    status: 201,
    response: successEnvelope(rowSchemas[resource]),
    errors: [400],
    undocumented: BODY,
  };
}

function customer(method: 'get' | 'put' | 'delete', summary: string): Operation {
  return {
    method,
    path: '/api/v2/customers/{id}',
    summary,
    parameters: [{ name: 'id', in: 'path', schema: z.int() }],
    status: 200,
    response: successEnvelope(rowSchemas.customers),
    errors: [404],
    undocumented: BODY,
  };
}
