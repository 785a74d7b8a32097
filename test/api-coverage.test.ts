import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { rowSchemas } from '../sandbox/data/rows.ts';
import { operations } from '../sandbox/http/operations.ts';
import { PUSH_TARGETS } from '../src/push/targets.ts';
import { endpoints as clientEndpoints } from '../src/source/api/endpoints.ts';
import { createBodies } from '../src/source/api/request-bodies.ts';
import { ALL, JOBS } from './support/resources.ts';

/** Tests that take long have a name of their own; the page need not say so. */
function pathOf(file: string): URL {
  const usual = new URL(`${file}.test.ts`, import.meta.url);
  return existsSync(usual) ? usual : new URL(`${file}.long.test.ts`, import.meta.url);
}

/** What the API's document lists, row by row: the query parameters of each read, and the body of each write. */
const DOCUMENT: Readonly<Record<string, readonly string[]>> = {
  'GET /api/v2/customers': ['page', 'limit', 'search'],
  'POST /api/v2/customers': ['account', 'email', 'phone', 'address', 'city', 'state', 'zip', 'country'],
  'GET /api/v2/customers/{id}': [],
  'PUT /api/v2/customers/{id}': ['account', 'email', 'phone', 'address', 'city', 'state', 'zip', 'country'],
  'DELETE /api/v2/customers/{id}': [],
  'GET /api/v2/invoices': ['status', 'customer_id', 'date_from', 'date_to'],
  'POST /api/v2/invoices': ['customer_id', 'date', 'due_date', 'items', 'notes'],
  'GET /api/v2/transactions': ['type', 'account_id', 'date_from', 'date_to'],
  'POST /api/v2/transactions': ['type', 'account_id', 'amount', 'category_id', 'description', 'date'],
  'GET /api/v2/products': [],
  'POST /api/v2/products': ['name', 'price', 'description', 'type', 'tax_rate'],
  'GET /api/v2/quotes': [],
  'POST /api/v2/quotes': ['customer_id', 'valid_until', 'items'],
  'GET /api/v2/tickets': ['status', 'department_id'],
  'POST /api/v2/tickets': ['customer_id', 'subject', 'message', 'department_id', 'priority'],
  'POST /api/v2/leads': ['first_name', 'last_name', 'email', 'company', 'phone', 'source'],
  'GET /api/v2/users': [],
  'POST /api/v2/users': ['name', 'email', 'password', 'role'],
  'GET /api/v2/reports/financial': ['year', 'month'],
  'POST /api/v2/webhooks': ['url', 'events'],
  'POST /api/v2/batch/customers': ['customers'],
  'GET /api/v2/orders': [],
  'GET /api/v2/suppliers': [],
  'GET /api/v2/purchases': [],
};

/** The fields of what comes back, where the document shows any. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  customers: [
    'id',
    'account',
    'email',
    'phone',
    'address',
    'city',
    'state',
    'zip',
    'country',
    'created_at',
    'updated_at',
  ],
  invoices: ['id', 'invoice_number', 'customer_id', 'date', 'due_date', 'amount', 'status', 'items', 'notes'],
  transactions: ['type', 'account_id', 'amount', 'category_id', 'description', 'date'],
  products: ['name', 'price', 'description', 'type', 'tax_rate'],
  quotes: ['customer_id', 'valid_until', 'items'],
  tickets: ['customer_id', 'subject', 'message', 'department_id', 'priority', 'status'],
  users: ['name', 'email', 'role'],
  financial_summaries: ['income', 'expenses', 'profit', 'outstanding_invoices'],
};
const ITEM = ['description', 'amount', 'qty'];

const clientDoc = readFileSync(new URL('../docs/client.md', import.meta.url), 'utf8');
const shapeOf = (schema: unknown): string[] => {
  const { def, shape } = schema as {
    def: { in?: z.ZodType; innerType?: z.ZodType; element?: z.ZodType };
    shape?: Record<string, unknown>;
  };
  const inner = def.in ?? def.innerType ?? def.element;
  return shape ? Object.keys(shape) : inner ? shapeOf(inner) : [];
};

/** The parameters or body fields that each side knows of an endpoint. */
function sandboxKnows(endpoint: string): string[] | undefined {
  const operation = Object.values(operations).find(each => `${each.method.toUpperCase()} ${each.path}` === endpoint);
  if (!operation) return undefined;
  return [...operation.parameters.map(each => each.name), ...(operation.body ? shapeOf(operation.body) : [])];
}

function clientKnows(endpoint: string): string[] | undefined {
  const [method, path = ''] = endpoint.split(' ');
  const own = Object.values(clientEndpoints).find(each => each.path === path.replace('/{id}', ''));
  if (!own || !clientDoc.includes(`### ${endpoint}\n`)) return undefined;
  if (method === 'PUT') return 'changes' in own ? shapeOf(own.changes) : undefined;
  if (method === 'POST') return 'body' in own ? shapeOf(own.body) : undefined;
  const asked = 'filters' in own ? shapeOf(own.filters) : 'period' in own ? shapeOf(own.period) : [];
  return 'filters' in own ? ['page', 'limit', ...asked] : asked;
}

const jobOf = (endpoint: string) => ALL.find(name => endpoint === `GET ${JOBS[name].path}`);
const oneOf = (endpoint: string) =>
  ALL.find(name =>
    JOBS[name].slicings.some(each => each.by === 'one' && `GET ${each.path}`.replace('{key}', '{id}') === endpoint),
  );
const pushOf = (endpoint: string) =>
  Object.keys(PUSH_TARGETS).find(name => {
    const { path, batch } = PUSH_TARGETS[name] ?? {};
    return endpoint === `POST ${path}` || endpoint === `POST ${batch?.path}`;
  });

/** What in the product uses an endpoint, besides the client, which has them all. */
function usedBy(endpoint: string): string {
  const job = jobOf(endpoint) ?? oneOf(endpoint);
  if (job) return `[jobs/${job}.ts](../jobs/${job}.ts)`;
  const pushed = pushOf(endpoint);
  if (pushed) return `[sluice push ${pushed}](push.md)`;
  return endpoint === 'POST /api/v2/webhooks' ? '[sluice webhooks register](operations.md)' : '';
}

/** What shows that a test file pushes something: by the command, by a call of its own or by a line of a table of them. */
const PUSHES: Readonly<Record<string, (name: string) => RegExp>> = {
  'cli/push': name => new RegExp(`'push', '${name}', \\w+, '--yes'`),
  'processes/push': name => new RegExp(`'push', '${name}', \\w+, '--yes'`),
  'push/run-push': name => new RegExp(`(push\\(|\\[\\s*)'${name}'`),
};
/** Customers go in batches, unless these are of one. */
const ONE_BY_ONE = { 'push/run-push': /push\('customers', .*\{ batch: 1 \}/ };

/** The test files that push to an endpoint. */
function pushedIn(endpoint: string): string[] {
  const name = pushOf(endpoint) as string;
  const shows = Object.entries(PUSHES).map(([file, pattern]) => [file, pattern(name)] as const);
  const patterns = endpoint === 'POST /api/v2/customers' ? Object.entries(ONE_BY_ONE) : shows;
  const textOf = (file: string) => readFileSync(pathOf(file), 'utf8');
  return patterns.filter(([file, pattern]) => pattern.test(textOf(file))).map(([file]) => file);
}

/** The test files that exercise every endpoint, and those that exercise every list. */
const OF_ALL = ['sandbox/openapi', 'source/client-doc'];
const OF_LISTS = ['jobs.contract', 'engine/run/all-resources'];
const inBackticks = (names: readonly string[]): string => names.map(name => `\`${name}\``).join(', ');

/** The test files that exercise an endpoint, besides those of all and of lists. */
function testedBy(endpoint: string): string {
  const files = jobOf(endpoint)
    ? []
    : oneOf(endpoint)
      ? ['engine/deletion/shrunken-lists']
      : pushOf(endpoint)
        ? pushedIn(endpoint)
        : endpoint === 'POST /api/v2/webhooks'
          ? ['service/start']
          : [];
  for (const file of [...files, ...OF_ALL, ...OF_LISTS]) expect(existsSync(pathOf(file)), file).toBe(true);
  return inBackticks(files);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map(row => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** Whether a field of what comes back has a column of its name, or the items in it have columns of theirs. */
function isStored(resource: string, field: string): boolean {
  const { children, record } = JOBS[resource as keyof typeof JOBS];
  if (!children[field]) return field in record.shape;
  const stored = shapeOf(record.shape[field]);
  return ITEM.every(each => stored.includes(each));
}

test('docs/api-coverage.md tells where every endpoint, parameter and field of the API is', async () => {
  for (const [endpoint, names] of Object.entries(DOCUMENT)) {
    expect(sandboxKnows(endpoint), `the sandbox: ${endpoint}`).toEqual(expect.arrayContaining([...names]));
    expect(clientKnows(endpoint), `the client: ${endpoint}`).toEqual(expect.arrayContaining([...names]));
  }
  for (const endpoint of Object.keys(DOCUMENT).filter(pushOf))
    expect(pushedIn(endpoint), `no test pushes to ${endpoint}`).not.toEqual([]);
  for (const [name, { path, body }] of Object.entries(PUSH_TARGETS))
    expect(shapeOf(body), `push ${name}`).toEqual(expect.arrayContaining([...(DOCUMENT[`POST ${path}`] ?? [])]));
  expect(shapeOf(createBodies.leads)).toEqual(DOCUMENT['POST /api/v2/leads']);
  for (const [resource, fields] of Object.entries(FIELDS)) {
    for (const field of fields) expect(isStored(resource, field), `${resource}.${field}`).toBe(true);
    const client =
      resource === 'financial_summaries' ? clientEndpoints.financial : clientEndpoints[resource as 'customers'];
    expect(shapeOf(client.row), `the client's rows of ${resource}`).toEqual(expect.arrayContaining([...fields]));
    if (resource === 'financial_summaries') continue;
    expect(shapeOf(rowSchemas[resource as 'customers']), `the sandbox's rows of ${resource}`).toEqual(
      expect.arrayContaining([...fields]),
    );
  }

  const endpoints = Object.entries(DOCUMENT).map(([endpoint, names]) => [
    `[${endpoint}](client.md#${endpoint
      .toLowerCase()
      .replaceAll(/[^a-z0-9 _-]/g, '')
      .replaceAll(' ', '-')})`,
    inBackticks(names),
    usedBy(endpoint),
    testedBy(endpoint),
  ]);
  const fields = Object.entries(FIELDS).map(([resource, names]) => [`\`${resource}\``, inBackticks(names)]);
  const text = `# API coverage

Where each endpoint, parameter and field of the API is used. The [sandbox](sandbox.md) serves every endpoint, and
[the client](client.md) has a method and an example for each.

\`npx vitest run test/api-coverage.test.ts --update\` writes this page. Without \`--update\`, the test fails if the page and
the code differ.

## Endpoints

Two tests exercise every endpoint (${inBackticks(OF_ALL)}), two more every list with a job
(${inBackticks(OF_LISTS)}); the table names the others.

${table(['endpoint', 'parameters or body fields', 'used by', 'tests'], endpoints)}

## Fields

Each field is stored in the column of its name; the fields of \`items\` (${inBackticks(ITEM)}) are in
\`invoice_items\` and \`quote_items\`. Fields that the API's document does not show are [kept
too](tables.md#the-data), except a user's \`password\`.

${table(['table', 'fields'], fields)}
`;
  await expect(text).toMatchFileSnapshot('../docs/api-coverage.md');
});
