import { describe, expect, test } from 'vitest';
import { createManualClock, openForTest, request } from '../test-client.ts';
import { openReceiver } from '../webhook-receiver.ts';

const customer = { account: "Zoë's Café", email: 'zoe@example.com', city: 'Zürich' };
const invoice = {
  customer_id: 1,
  date: '2026-01-10',
  due_date: '2026-02-10',
  items: [
    { description: 'Hours', amount: 100.1, qty: 3 },
    { description: 'Travel', amount: 20, qty: 1 },
  ],
  notes: 'Thanks',
};
const transaction = {
  type: 'Income',
  account_id: 2,
  amount: 12.34,
  category_id: 5,
  description: 'Cash',
  date: '2026-01-11',
};

describe('customers', () => {
  test('a create answered with 429 has no effect', async () => {
    const sandbox = await openForTest();
    const before = [...sandbox.rows('customers')].length;
    sandbox.failNext('json-429');
    expect((await request(sandbox, '/api/v2/customers', { body: customer })).status).toBe(429);
    expect([...sandbox.rows('customers')]).toHaveLength(before);
  });

  test('create, read, update and delete', async () => {
    const clock = createManualClock();
    const sandbox = await openForTest({ clock });
    const created = await request(sandbox, '/api/v2/customers', { body: customer });
    expect(created.status).toBe(201);
    const { id } = created.body.data;
    expect(created.body.data).toEqual({
      ...customer,
      id,
      phone: null,
      address: null,
      state: null,
      zip: null,
      country: null,
      created_at: '2026-01-15T12:00:00Z',
      updated_at: '2026-01-15T12:00:00Z',
    });
    expect((await request(sandbox, `/api/v2/customers/${id}`)).body.data).toEqual(created.body.data);

    clock.advance(90_000);
    const changed = await request(sandbox, `/api/v2/customers/${id}`, { method: 'PUT', body: { city: 'Bern' } });
    expect(changed.status).toBe(200);
    expect(changed.body.data).toEqual({ ...created.body.data, city: 'Bern', updated_at: '2026-01-15T12:01:30Z' });
    expect((await request(sandbox, '/api/v2/customers?limit=1')).body.data).toEqual([changed.body.data]);

    expect((await request(sandbox, `/api/v2/customers/${id}`, { method: 'DELETE' })).status).toBe(200);
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const gone = await request(
        sandbox,
        `/api/v2/customers/${id}`,
        method === 'PUT' ? { method, body: {} } : { method },
      );
      expect(gone.status).toBe(404);
      expect(gone.body).toEqual({ success: false, message: 'Customer not found' });
    }
    expect((await request(sandbox, '/api/v2/customers')).body.meta.total_records).toBe(150);
  });

  test('an invalid customer is rejected with a message for each field', async () => {
    const sandbox = await openForTest();
    const { status, body } = await request(sandbox, '/api/v2/customers', { body: { email: 'nonsense', phone: 5 } });
    expect(status).toBe(400);
    expect(body).toEqual({
      success: false,
      errors: { account: 'This field is required', email: 'Invalid email format', phone: 'Must be a string' },
      message: 'Validation failed',
    });
    const put = await request(sandbox, '/api/v2/customers/1', { method: 'PUT', body: { email: 'nonsense' } });
    expect(put.body.errors).toEqual({ email: 'Invalid email format' });
    const broken = await request(sandbox, '/api/v2/customers', { body: '{"account":' });
    expect(broken.status).toBe(400);
    expect(broken.body.errors).toEqual({ body: 'The body is not JSON' });
  });

  test('a batch creates its valid entries and returns a result for each entry', async () => {
    const sandbox = await openForTest();
    const { status, body } = await request(sandbox, '/api/v2/batch/customers', {
      body: { customers: [customer, { account: '' }, { account: 'Two', email: '' }] },
    });
    expect(status).toBe(201);
    expect(body.data.map((result: { success: boolean }) => result.success)).toEqual([true, false, true]);
    expect(body.data[1].errors).toEqual({ account: 'This field is required' });
    expect(sandbox.data.customers.size).toBe(152);
    expect(sandbox.data.customers.get(body.data[2].data.id)?.account).toBe('Two');
    expect((await request(sandbox, '/api/v2/batch/customers', { body: { customers: [] } })).status).toBe(400);
  });
});

describe('other creates', () => {
  test('a new invoice has the sum of its items and is unpaid', async () => {
    const sandbox = await openForTest();
    const { status, body } = await request(sandbox, '/api/v2/invoices', { body: invoice });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ ...invoice, amount: 320.3, status: 'Unpaid' });
    expect((await request(sandbox, '/api/v2/invoices?limit=1')).body.data).toEqual([body.data]);
  });

  test('an invoice with a total of zero is rejected', async () => {
    const sandbox = await openForTest();
    const free = { ...invoice, items: [{ description: 'Gift', amount: 0, qty: 1 }] };
    const { status, body } = await request(sandbox, '/api/v2/invoices', { body: free });
    expect(status).toBe(400);
    expect(body.errors).toEqual({ amount: 'Amount must be greater than 0' });
  });

  test('a transaction', async () => {
    const sandbox = await openForTest();
    const { status, body } = await request(sandbox, '/api/v2/transactions', { body: transaction });
    expect(status).toBe(201);
    expect((await request(sandbox, '/api/v2/transactions?limit=1')).body.data).toEqual([
      { ...transaction, id: body.data.id },
    ]);
    const wrong = await request(sandbox, '/api/v2/transactions', {
      body: { ...transaction, type: 'Gift', amount: -1, date: '1/2/26' },
    });
    expect(Object.keys(wrong.body.errors).sort()).toEqual(['amount', 'date', 'type']);
  });

  test.for([
    ['products', { name: 'Bolt', price: 1.5, type: 'product', tax_rate: 7 }],
    ['quotes', { customer_id: 1, valid_until: '2026-03-01', items: invoice.items }],
    ['tickets', { customer_id: 1, subject: 'Help', message: 'Please', department_id: 2, priority: 'High' }],
    ['leads', { first_name: 'Ada', last_name: 'Smith', email: 'ada@example.com', source: 'web' }],
    ['users', { name: 'Ada', email: 'ada@example.com', password: 'secret', role: 'staff' }],
  ] as const)('%s', async ([resource, given]) => {
    const sandbox = await openForTest();
    const { status, body } = await request(sandbox, `/api/v2/${resource}`, { body: given });
    expect(status).toBe(201);
    expect(body.data).toMatchObject('password' in given ? { name: 'Ada' } : given);
    expect(body.data).not.toHaveProperty('password');
    expect([...sandbox.rows(resource)].at(-1)).toEqual(body.data);
  });
});

test('the response to a create has an id even if the list has none', async () => {
  const sandbox = await openForTest({ variants: { 'transaction-ids': 'no', 'other-ids': 'no' } });
  for (const [resource, body] of [
    ['transactions', transaction],
    ['products', { name: 'Bolt', price: 1.5 }],
  ] as const) {
    const created = await request(sandbox, `/api/v2/${resource}`, { body });
    expect(created.body.data).toEqual([...sandbox.rows(resource)].at(-1));
    const { id, ...listed } = created.body.data;
    expect(id).toEqual(expect.any(Number));
    expect((await request(sandbox, `/api/v2/${resource}?limit=1`)).body.data).toEqual([listed]);
  }
});

describe('webhooks', () => {
  test('a webhook receives the events it registered for', async () => {
    const sandbox = await openForTest();
    const { received, url } = await openReceiver();
    const registered = await request(sandbox, '/api/v2/webhooks', { body: { url, events: ['invoice.created'] } });
    expect(registered.status).toBe(201);
    const created = await request(sandbox, '/api/v2/invoices', { body: invoice });
    sandbox.change('invoice-paid');
    await sandbox.webhooksSent();
    expect(received).toEqual([{ event: 'invoice.created', data: created.body.data }]);
  });

  test('both events are sent for changes at the source and for creates through the API', async () => {
    const sandbox = await openForTest();
    const { received, url } = await openReceiver();
    await request(sandbox, '/api/v2/webhooks', { body: { url, events: ['invoice.created', 'payment.received'] } });
    const created = await request(sandbox, '/api/v2/invoices', { body: invoice });
    const booked = await request(sandbox, '/api/v2/transactions', { body: transaction });
    await request(sandbox, '/api/v2/transactions', { body: { ...transaction, type: 'Expense' } });
    const later = sandbox.change('invoice-new').id;
    const paid = sandbox.change('invoice-paid').id;
    sandbox.change('invoice-edited');
    await sandbox.webhooksSent();
    expect(received.map(({ event, data }) => [event, data.id, 'invoice_number' in data])).toEqual([
      ['invoice.created', created.body.data.id, true],
      ['payment.received', booked.body.data.id, false],
      ['invoice.created', later, true],
      ['payment.received', paid, true],
    ]);
  });

  test('webhooks=twice and never', async () => {
    const sandbox = await openForTest({ variants: { webhooks: 'twice' } });
    const { received, url } = await openReceiver();
    await request(sandbox, '/api/v2/webhooks', { body: { url, events: ['payment.received'] } });
    const { id } = sandbox.change('invoice-paid');
    sandbox.setVariants({ webhooks: 'never' });
    sandbox.change('invoice-paid');
    await sandbox.webhooksSent();
    expect(received.map(({ event, data }) => [event, data.id])).toEqual([
      ['payment.received', id],
      ['payment.received', id],
    ]);
  });

  test('webhooks=swapped', async () => {
    const sandbox = await openForTest({ variants: { webhooks: 'swapped' } });
    const { received, url } = await openReceiver();
    await request(sandbox, '/api/v2/webhooks', { body: { url, events: ['invoice.created'] } });
    const ids = [1, 2, 3].map(() => sandbox.change('invoice-new').id);
    await sandbox.webhooksSent();
    expect(received.map(({ data }) => data.id)).toEqual([ids[1], ids[0], ids[2]]);
  });

  test('an address that is not HTTPS is rejected', async () => {
    const sandbox = await openForTest();
    const { status, body } = await request(sandbox, '/api/v2/webhooks', {
      body: { url: 'http://example.com/', events: ['x'] },
    });
    expect(status).toBe(400);
    expect(body.errors).toEqual({ url: 'Must be an HTTPS address' });
  });
});
