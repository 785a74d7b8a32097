import { z } from 'zod';
import { rowSchemas, undocumented } from '../data/rows.ts';
import { listOf, successOf } from '../envelopes/envelope-schemas.ts';
import { type Listed, listShapes } from '../lists/answer-list.ts';
import { batchBody, type Creatable, createBodies, customerBody, webhookBody } from './request-bodies.ts';

export interface Parameter {
  name: string;
  in: 'query' | 'path';
  schema: z.ZodType;
  /** What the API's document does not show of it; undefined when all is shown. */
  undocumented?: string | undefined;
}

/** One method of one path, as the API's document tells of it and the sandbox serves it. */
export interface Operation {
  method: 'get' | 'post' | 'put' | 'delete';
  path: string;
  summary: string;
  parameters: readonly Parameter[];
  body?: z.ZodType;
  /** The status of success, and the whole body that goes with it. */
  status: 200 | 201;
  answer: z.ZodType;
  /** What else it may be answered with, beside what befalls every request. */
  refusals: readonly (400 | 404)[];
  undocumented?: string | undefined;
}

const PLAIN = 'the body of the answer, beyond its envelope';
const REQUIRED = 'which fields are required (here: without which a row makes no sense), and what their values may be';

const singular = (resource: string) => resource.slice(0, -1);
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** By operation id. */
export const operations: Readonly<Record<string, Operation>> = {
  ...Object.fromEntries(
    (Object.keys(listShapes) as Listed[]).map(resource => [`list${capital(resource)}`, list(resource)]),
  ),
  ...Object.fromEntries(
    (Object.keys(createBodies) as Creatable[]).map(resource => [
      `create${capital(singular(resource))}`,
      create(resource),
    ]),
  ),
  getCustomer: { ...customer('get', 'One customer'), undocumented: undefined },
  updateCustomer: {
    ...customer('put', 'Change a customer'),
    body: customerBody.partial().meta(undocumented('whether fields that are left out stay as they are, as here')),
    refusals: [400, 404],
  },
  deleteCustomer: { ...customer('delete', 'Delete a customer'), answer: successOf(z.object({ id: z.int() })) },
  createCustomers: {
    method: 'post',
    path: '/api/v2/batch/customers',
    summary: 'Create several customers',
    parameters: [],
    // Each entry is checked by itself: one wrong one need not refuse the others.
    body: batchBody.extend({ customers: z.array(customerBody).min(1) }).meta(undocumented(REQUIRED)),
    status: 201,
    answer: successOf(
      z.array(
        z.union([
          z.object({ index: z.int(), success: z.literal(true), data: rowSchemas.customers }),
          z.object({ index: z.int(), success: z.literal(false), errors: z.record(z.string(), z.string()) }),
        ]),
      ),
    ),
    refusals: [400],
    undocumented: 'the answer, and what becomes of the others when some entries are wrong',
  },
  financialReport: {
    method: 'get',
    path: '/api/v2/reports/financial',
    summary: 'Income, expenses, profit and outstanding invoices of a month, or of a year',
    parameters: [
      { name: 'year', in: 'query', schema: z.int(), undocumented: 'what it is when it is not given (here: this year)' },
      { name: 'month', in: 'query', schema: z.int().min(1).max(12) },
    ],
    status: 200,
    answer: successOf(
      z
        .object({ income: z.number(), expenses: z.number(), profit: z.number(), outstanding_invoices: z.number() })
        .meta({ id: 'FinancialSummary', ...undocumented('which rows are summed up, and by which date') }),
    ),
    refusals: [400],
  },
  registerWebhook: {
    method: 'post',
    path: '/api/v2/webhooks',
    summary: 'Register an address for events',
    parameters: [],
    body: webhookBody.meta(undocumented('other events than invoice.created and payment.received')),
    status: 201,
    answer: successOf(z.object({ id: z.int(), url: z.string(), events: z.array(z.string()) })),
    refusals: [400],
    undocumented: PLAIN,
  },
};

function list(resource: Listed): Operation {
  const { state, owner, dated, searched, madeUp } = listShapes[resource];
  const paged = resource === 'customers';
  const unshown = paged ? undefined : 'whether this list is paged';
  const format = 'the format of the date, and whether that day is part of the answer';
  const query = (name: string, schema: z.ZodType, what?: string): Parameter => ({
    name,
    in: 'query',
    schema,
    undocumented: what,
  });
  return {
    method: 'get',
    path: `/api/v2/${resource}`,
    summary: `A list of ${resource}`,
    parameters: [
      query('page', z.int().min(1), unshown),
      query('limit', z.int().min(1).default(20), unshown ?? 'the greatest value (here: clamped to 100)'),
      ...(searched ? [query('search', z.string())] : []),
      ...(state ? [query(state.name, z.enum(state.documented))] : []),
      ...(owner ? [query(owner, z.int())] : []),
      ...(dated ? [query('date_from', z.iso.date(), format), query('date_to', z.iso.date(), format)] : []),
    ],
    status: 200,
    answer: listOf(rowSchemas[resource], paged),
    refusals: dated ? [400] : [],
    undocumented: madeUp ? 'whether the source offers it at all: only the path is shown' : undefined,
  };
}

function create(resource: Creatable): Operation {
  return {
    method: 'post',
    path: `/api/v2/${resource}`,
    summary: `Create one of the ${resource}`,
    parameters: [],
    body: createBodies[resource].meta(undocumented(REQUIRED)),
    status: 201,
    answer: successOf(rowSchemas[resource]),
    refusals: [400],
    undocumented: PLAIN,
  };
}

function customer(method: 'get' | 'put' | 'delete', summary: string): Operation {
  return {
    method,
    path: '/api/v2/customers/{id}',
    summary,
    parameters: [{ name: 'id', in: 'path', schema: z.int() }],
    status: 200,
    answer: successOf(rowSchemas.customers),
    refusals: [404],
    undocumented: PLAIN,
  };
}
