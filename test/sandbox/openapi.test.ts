import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { eventKinds } from '../../sandbox/changes/edits.ts';
import { createApp } from '../../sandbox/http/app.ts';
import type { AppDependencies } from '../../sandbox/http/app-dependencies.ts';
import { describeApi } from '../../sandbox/http/describe-api.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { mismatches, resolve } from './schema-mismatches.ts';
import { type Answer, type Body, openForTest, request } from './test-client.ts';
import { openReceiver } from './webhook-receiver.ts';

const description: Body = JSON.parse(JSON.stringify(describeApi()));
const described = Object.entries<Body>(description.paths).flatMap(([path, methods]) =>
  Object.entries<Body>(methods).map(([method, operation]) => ({ key: `${method.toUpperCase()} ${path}`, operation })),
);

const operationOf = (key: string): Body => described.find(each => each.key === key)?.operation;

const items = [{ description: 'Hours', amount: 100.1, qty: 3 }];
const invoice = { customer_id: 1, date: '2026-01-10', due_date: '2026-02-10', items, notes: 'Thanks' };

/** A valid body for each operation that takes one. */
const bodies: Record<string, object> = {
  createCustomer: {
    account: 'Zoë',
    email: 'zoe@example.com',
    phone: '1',
    address: 'a',
    city: 'b',
    state: 'c',
    zip: 'd',
  },
  updateCustomer: { city: 'Bern' },
  createCustomers: { customers: [{ account: 'One', email: 'one@example.com' }, { account: 'Two' }] },
  createInvoice: invoice,
  createTransaction: {
    type: 'Income',
    account_id: 2,
    amount: 12.34,
    category_id: 5,
    description: 'Cash',
    date: '2026-01-11',
  },
  createProduct: { name: 'Bolt', price: 1.5, description: 'Steel', type: 'service', tax_rate: 7 },
  createQuote: { customer_id: 1, valid_until: '2026-03-01', items },
  createTicket: { customer_id: 1, subject: 'Help', message: 'Please', department_id: 2, priority: 'High' },
  createLead: { first_name: 'Ada', last_name: 'S', email: 'a@example.com', company: 'A', phone: '1', source: 'web' },
  createUser: { name: 'Ada', email: 'ada@example.com', password: 'secret', role: 'administrator' },
  registerWebhook: { url: 'https://example.com/hook', events: [...eventKinds] },
};

/** Sends a request as described, and compares the response with the description of its status. */
async function requestAs(sandbox: Sandbox, key: string, query = '', body?: object): Promise<Answer> {
  const [method = '', path = ''] = key.split(' ');
  const answer = await request(sandbox, path.replace('{id}', '1') + query, { method, ...(body && { body }) });
  expectDescribed(key, answer);
  return answer;
}

function expectDescribed(key: string, { status, headers, body }: Answer): void {
  const documented = operationOf(key).responses[status];
  expect(documented, `${key} returned ${status}`).toBeDefined();
  const response = '$ref' in documented ? resolve(description, documented.$ref) : documented;
  for (const name of Object.keys(response.headers)) expect(headers.get(name), `${key}: ${name}`).toMatch(/^\d+$/);
  const { schema } = response.content['application/json'];
  expect(mismatches(description, schema, body), `${key} ${status}`).toEqual([]);
}

test('the description is OpenAPI 3.1, needs no key and is not counted', async () => {
  const sandbox = await openForTest({ rateLimit: 1 });
  for (let time = 0; time < 3; time += 1) {
    const { status, body, headers } = await request(sandbox, '/openapi.json', { key: null });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('application/json');
    expect(body).toEqual(description);
  }
  expect(description.openapi).toBe('3.1.0');
  expect(sandbox.stats.total).toBe(0);
  expect((await request(sandbox, '/api/v2/customers')).status).toBe(200);
});

test('exactly the served paths and methods are described', () => {
  // Routes are only registered, so no dependency is used.
  const { routes } = createApp({} as AppDependencies);
  const served = routes
    .filter(({ method, path }) => method !== 'ALL' && path !== '/openapi.json')
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)\{.*\}$/, '{$1}')}`);
  expect(served.toSorted()).toEqual(described.map(({ key }) => key).toSorted());
});

test('docs/sandbox.md names every path with its methods and filters', () => {
  const text = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
  for (const { key, operation } of described) {
    const [method = '', path = ''] = key.split(' ');
    const row = text.split('\n').find(line => line.includes(`\`${path.replace('/api/v2', '')}\``));
    expect(row, key).toContain(method);
    for (const { name, in: place } of operation.parameters)
      if (place === 'query' && !['page', 'limit'].includes(name)) expect(row, key).toContain(`\`${name}\``);
  }
});

test('every reference resolves, and operation ids are unique', () => {
  const references = [...JSON.stringify(description).matchAll(/"\$ref":"([^"]+)"/g)].map(match => match[1] as string);
  expect(references.length).toBeGreaterThan(50);
  for (const reference of references) expect(resolve(description, reference), reference).toBeDefined();
  const names = described.map(({ operation }) => operation.operationId);
  expect(new Set(names).size).toBe(names.length);
});

describe('responses match the description', () => {
  test.for(described.map(({ key, operation }) => [key, operation] as const))('%s', async ([key, operation]) => {
    const sandbox = await openForTest();
    const [method = '', path = ''] = key.split(' ');
    const body = bodies[operation.operationId];
    expect(body === undefined).toBe(operation.requestBody === undefined);
    if (body !== undefined) {
      const { schema } = operation.requestBody.content['application/json'];
      expect(mismatches(description, schema, body)).toEqual([]);
    }

    const right = await requestAs(sandbox, key, '', body);
    expect(right.body.success).toBe(true);
    if (operation.responses[400] !== undefined) {
      const refused = body === undefined ? await refusedQuery(sandbox, key) : await requestAs(sandbox, key, '', []);
      expect([refused.status, Object.keys(refused.body.errors).length > 0]).toEqual([400, true]);
    }
    if (operation.responses[404] !== undefined) {
      const missing = await request(sandbox, path.replace('{id}', '9999'), { method, ...(body && { body }) });
      expect(missing.status).toBe(404);
      expectDescribed(key, missing);
    }
    const unknown = await request(sandbox, path.replace('{id}', '1'), { method, key: 'other' });
    expect(unknown.status).toBe(401);
    expectDescribed(key, unknown);
    sandbox.failNext('json-500');
    expect((await requestAs(sandbox, key, '', body)).status).toBe(500);
    sandbox.spend(1000);
    const rejected = await requestAs(sandbox, key, '', body);
    expect([rejected.status, rejected.headers.get('retry-after') !== null]).toEqual([429, true]);
  });

  async function refusedQuery(sandbox: Sandbox, key: string): Promise<Answer> {
    return requestAs(sandbox, key, key.endsWith('/financial') ? '?year=2025&month=13' : '?date_from=yesterday');
  }

  test.for(described.filter(({ key }) => key.startsWith('GET') && !key.includes('{')))(
    '$key: all pages, after changes, and by each filter',
    async ({ key, operation }) => {
      const sandbox = await openForTest({ rateLimit: 100_000, variants: { digits: 'beyond', undated: 'yes' } });
      sandbox.changeRandom(100);
      sandbox.changeOthers(200);
      const values: Record<string, string> = { page: '2', limit: '100', search: 'a', year: '2025', month: '3' };
      for (const { name, schema } of operation.parameters) {
        const value = values[name] ?? schema.enum?.[0] ?? (schema.format === 'date' ? '2025-06-01' : '3');
        await requestAs(sandbox, key, `?${name}=${encodeURIComponent(value)}`);
      }
      if (key.endsWith('/financial')) return;
      for (let page = 1; page <= 20; page += 1) {
        const { body } = await requestAs(sandbox, key, `?limit=100&page=${page}`);
        if (page > body.meta.total_pages) return;
      }
    },
  );

  test('a batch with an invalid entry', async () => {
    const sandbox = await openForTest();
    const key = 'POST /api/v2/batch/customers';
    const wrong = { customers: [{ account: 'One' }, { account: 'Two', email: 'nonsense' }] };
    expect((await requestAs(sandbox, key, '', wrong)).body.data[1].success).toBe(false);
    sandbox.setVariants({ batch: 'all' });
    expect((await requestAs(sandbox, key, '', wrong)).status).toBe(400);
  });

  test('webhooks', async () => {
    const sandbox = await openForTest();
    const { received, url } = await openReceiver();
    await request(sandbox, '/api/v2/webhooks', { body: { url, events: [...eventKinds] } });
    await request(sandbox, '/api/v2/invoices', { body: invoice });
    await request(sandbox, '/api/v2/transactions', { body: bodies.createTransaction });
    sandbox.change('invoice-paid');
    await sandbox.webhooksSent();
    expect(received.map(({ event }) => event)).toEqual(['invoice.created', 'payment.received', 'payment.received']);
    for (const message of received) {
      const { schema } = description.webhooks[message.event].post.requestBody.content['application/json'];
      expect(mismatches(description, schema, message)).toEqual([]);
    }
  });
});

describe('open points of the document are marked', () => {
  const schemaOf = (name: string) => description.components.schemas[name];
  const marked = (place: Body) => typeof place['x-undocumented'] === 'string';

  test('the fields and the existence of orders, suppliers and purchases', () => {
    for (const name of ['Order', 'Supplier']) expect(marked(schemaOf(name))).toBe(true);
    for (const name of ['orders', 'suppliers', 'purchases'])
      expect(marked(operationOf(`GET /api/v2/${name}`))).toBe(true);
    expect(marked(operationOf('GET /api/v2/customers'))).toBe(false);
  });

  test('ids and fields of rows whose responses are not shown', () => {
    for (const name of ['Transaction', 'Product', 'Quote', 'Ticket', 'Lead', 'User']) {
      expect(marked(schemaOf(name))).toBe(true);
      expect(marked(schemaOf(name).properties.id)).toBe(true);
    }
    for (const name of ['Customer', 'Invoice']) expect(marked(schemaOf(name).properties.id)).toBe(false);
    expect(
      Object.keys(schemaOf('Invoice').properties).filter(name => marked(schemaOf('Invoice').properties[name])),
    ).toEqual(['date', 'notes']);
  });

  test('paging of lists other than customers, responses to creates, the reset header', () => {
    for (const { key, operation } of described) {
      const paging = operation.parameters.filter(({ name }: Body) => name === 'page');
      for (const parameter of paging) expect(marked(parameter), key).toBe(key !== 'GET /api/v2/customers');
      if (key.startsWith('POST')) expect(marked(operation), key).toBe(true);
      if (operation.requestBody)
        expect(marked(operation.requestBody.content['application/json'].schema), key).toBe(true);
    }
    expect(marked(description.components.headers['X-RateLimit-Reset'])).toBe(true);
    expect(marked(description.components.headers['X-RateLimit-Limit'])).toBe(false);
  });
});

test('the comparison reports every difference', () => {
  const schema = description.components.schemas.Item;
  const item = { description: null, amount: 1, qty: 2 };
  expect(mismatches(description, schema, item)).toEqual([]);
  expect(mismatches(description, schema, { ...item, colour: 'red' })).toEqual(['body.colour is not described']);
  expect(mismatches(description, schema, { amount: '1', qty: 2 })).toEqual([
    'body.amount: "1" is not of type "number"',
    'body.description is missing',
  ]);
  expect(mismatches(description, { $ref: '#/components/schemas/Error' }, { success: true, message: '' })).toHaveLength(
    1,
  );
  expect(mismatches(description, { uniqueItems: true }, [])).toHaveLength(1);
  expect(mismatches(description, { type: ['string', 'null'] }, undefined)).toHaveLength(1);
});
