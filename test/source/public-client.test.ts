import { describe, expect, it, onTestFinished } from 'vitest';
import { openSandbox, type SandboxOptions } from '../../sandbox/sandbox.ts';
import type { Variants } from '../../sandbox/variants/variants.ts';
import { HOUR, SECOND } from '../../src/clock.ts';
import { createClient, type SluiceClientOptions, type SluiceError } from '../../src/source/public/public-client.ts';
import { autoClock, manualClock } from '../support/manual-clock.ts';
import { failure } from './failure.ts';
import { type Handler, json, openPeer } from './peer.ts';

const KEY = 'sk_live_51H+8a/secret=';

async function setUp(
  variants: Partial<Variants> = {},
  more: { sandbox?: SandboxOptions; client?: Partial<SluiceClientOptions> } = {},
) {
  const clock = autoClock();
  const sandbox = await openSandbox({ apiKey: KEY, clock, variants, ...more.sandbox });
  onTestFinished(() => sandbox.close());
  const client = createClient({ url: sandbox.url, apiKey: KEY, clock, ...more.client });
  onTestFinished(() => client.close());
  return { sandbox, client, clock };
}

async function withPeer(handler: Handler) {
  const peer = await openPeer(handler);
  const client = createClient({ url: peer.url, apiKey: KEY, clock: autoClock() });
  onTestFinished(() => client.close());
  return { peer, client };
}

async function gather<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

const idsOf = (rows: readonly { id?: unknown }[]) => rows.map(row => Number(row.id)).sort((a, b) => a - b);

describe('lists', () => {
  it('return a page with its meta, and ids and amounts as exact text', async () => {
    const { client, sandbox } = await setUp();
    const page = await client.customers.list({ page: 2, limit: 50 });
    expect(page.meta).toEqual({ currentPage: 2, totalPages: 3, totalRecords: 150 });
    expect(page.rows).toHaveLength(50);
    const { rows } = await client.invoices.list({ limit: 1 });
    const [stored] = [...sandbox.rows('invoices')].reverse();
    expect(rows[0]).toMatchObject({
      id: String(stored?.id),
      customer_id: String(stored?.customer_id),
      amount: String(stored?.amount),
    });
    expect(await client.customers.list({ page: 99 })).toMatchObject({ rows: [] });
  });

  it('send each filter under its name', async () => {
    const { client, sandbox } = await setUp();
    await client.customers.list({ search: 'a b', page: 1, limit: 5 });
    await client.invoices.list({
      status: 'Partially Paid',
      customer_id: 7,
      date_from: '2026-01-01',
      date_to: '2026-01-31',
    });
    await client.transactions.list({ type: 'Income', account_id: '2' });
    await client.tickets.list({ status: 'Open', department_id: 1 });
    await client.reports.financial({ year: 2026, month: 1 });
    expect(sandbox.stats.requests.map(({ path }) => path)).toEqual([
      '/api/v2/customers?search=a+b&page=1&limit=5',
      '/api/v2/invoices?status=Partially+Paid&customer_id=7&date_from=2026-01-01&date_to=2026-01-31',
      '/api/v2/transactions?type=Income&account_id=2',
      '/api/v2/tickets?status=Open&department_id=1',
      '/api/v2/reports/financial?year=2026&month=1',
    ]);
  });

  it.each([
    {},
    { paging: 'whole' },
    { paging: 'no-meta' },
    { paging: 'no-meta', 'past-end': '404' },
    { paging: 'no-meta', 'past-end': 'last-page' },
    { paging: 'no-meta', 'past-end': 'last-page', order: 'date-desc-loose', 'transaction-ids': 'no' },
    { 'limit-max': '1000' },
    { 'limit-max': '100-reject' },
    { 'limit-max': '20-reject', validation: '422' },
    { 'limit-max': '20-reject', validation: '200', paging: 'no-meta' },
    { 'limit-max': 'honoured' },
    { 'limit-max': 'ignored', order: 'shuffled' },
    { numbers: 'strings', none: 'empty', timestamps: 'micros', 'extra-fields': 'yes' },
    { numbers: 'mixed', none: 'zero-date', timestamps: 'zoneless', digits: 'beyond', undated: 'yes' },
    { none: 'absent', 'invoice-fields': 'bare', 'customer-fields': 'bare', 'other-ids': 'no', states: 'more' },
  ] satisfies Partial<Variants>[])('return each row once, whatever the variants of the source: %j', async variants => {
    const { client, sandbox } = await setUp(variants, { sandbox: { rateLimit: 0 } });
    for (const resource of ['customers', 'invoices', 'transactions'] as const) {
      const rows = await gather<{ id?: string | null | undefined }>(client[resource].all());
      const stored = [...sandbox.rows(resource)];
      expect(rows).toHaveLength(stored.length);
      if (rows[0]?.id) expect(idsOf(rows)).toEqual(idsOf(stored));
    }
    for (const resource of ['products', 'quotes', 'tickets', 'users', 'orders', 'suppliers', 'purchases'] as const) {
      const all: AsyncIterable<object> = client[resource].all();
      expect(await gather(all)).toHaveLength([...sandbox.rows(resource)].length);
    }
  });

  it.each(['capped', 'ignored'] as const)('fail if the source cuts the list off: %s', async paging => {
    const { client } = await setUp({ paging, cap: '100' });
    const rows: unknown[] = [];
    const error = await failure(
      (async () => {
        for await (const row of client.invoices.all()) rows.push(row);
      })(),
    );
    expect(rows).toHaveLength(100);
    expect(error).toMatchObject({ kind: 'failed', message: expect.stringContaining('/api/v2/invoices: page 2') });
  });

  it('request an empty page again if its own meta contradicts it, and fail the second time', async () => {
    const { client, sandbox } = await setUp();
    sandbox.failNext('empty-list');
    expect(await gather(client.customers.all())).toHaveLength(150);
    sandbox.failNext('empty-list', 2);
    expect((await failure(gather(client.customers.all()))).message).toContain('page 1 is empty');
  });

  it('fail at the maximum number of pages', async () => {
    const { client, sandbox } = await setUp();
    expect(await failure(gather(client.customers.all({ limit: 10, maxPages: 3 })))).toMatchObject({ kind: 'failed' });
    expect(sandbox.stats.total).toBe(3);
  });

  it('try a page size that the source refuses only once', async () => {
    const { client, sandbox } = await setUp({ 'limit-max': '20-reject' });
    const totals: number[] = [];
    for (const _ of [1, 2]) {
      await gather(client.customers.all());
      totals.push(sandbox.stats.total);
    }
    expect(totals).toEqual([10, 18]);
    expect(await failure(gather(client.customers.all({ limit: 50 })))).toMatchObject({ kind: 'refused' });
    expect(sandbox.stats.total).toBe(19);
  });

  it('request no page that is not needed', async () => {
    const { client, sandbox } = await setUp();
    for await (const customer of client.customers.all({ limit: 10 })) if (customer.id) break;
    expect(sandbox.stats.total).toBe(1);
  });

  it('leave out rows that contradict a filter the source ignores', async () => {
    const asked = { status: 'paid', date_from: '2025-03-01', date_to: '2025-10-31' };
    const honoured = await gather((await setUp()).client.invoices.all({ ...asked, status: 'Paid' }));
    expect(honoured.length).toBeGreaterThan(10);
    const ignoring = await setUp({ filters: 'ignored', 'date-filter': 'ignored' });
    expect(idsOf(await gather(ignoring.client.invoices.all(asked)))).toEqual(idsOf(honoured));
    const [first] = honoured;
    const { rows } = await ignoring.client.invoices.list({ customer_id: first?.customer_id ?? 0, limit: 100 });
    expect(new Set(rows.map(row => row.customer_id))).toEqual(new Set([first?.customer_id]));
    // However the id is spelled.
    const padded = { customer_id: `00${first?.customer_id}` };
    expect((await ignoring.client.invoices.list({ ...padded, limit: 100 })).rows).toEqual(rows);
    const all = await gather(ignoring.client.invoices.all(padded));
    expect(new Set(all.map(row => row.customer_id))).toEqual(new Set([first?.customer_id]));
  });

  it.each(['404', '405'] as const)('throw `absent` if the source does not offer the list: %s', async other => {
    const { client } = await setUp({ 'other-lists': other });
    for (const list of [client.orders, client.suppliers, client.purchases]) {
      expect(await failure(list.list())).toMatchObject({ kind: 'absent', status: Number(other) });
      expect(await failure(gather(list.all()))).toMatchObject({ kind: 'absent' });
    }
  });
});

describe('404', () => {
  it('to a filtered list is an empty page if the list itself exists', async () => {
    const { peer, client } = await withPeer((response, _nth, request) =>
      request.url?.includes('status') ? json(response, '', 404) : json(response, { success: true, data: [] }),
    );
    expect(await client.invoices.list({ status: 'Paid' })).toEqual({ rows: [] });
    expect(await gather(client.invoices.all({ status: 'Paid' }))).toEqual([]);
    expect(peer.seen.map(({ url }) => url)).toEqual([
      '/api/v2/invoices?status=Paid',
      '/api/v2/invoices',
      '/api/v2/invoices?status=Paid&page=1&limit=1000',
    ]);
    const nowhere = await withPeer(response => json(response, '', 404));
    expect(await failure(nowhere.client.invoices.list({ status: 'Paid' }))).toMatchObject({ kind: 'absent' });
  });

  it('to a create can refer to a record named in its body', async () => {
    const { client } = await withPeer(response => json(response, '', 404));
    expect(await failure(client.tickets.create({ customer_id: 99, subject: 'Help' }))).toMatchObject({
      kind: 'refused',
      status: 404,
      message: 'The source answers POST /api/v2/tickets with 404, not found.',
      next: expect.stringContaining('refers to'),
    });
  });

  it('or 405 to the report means that there is none', async () => {
    for (const status of [404, 405]) {
      const { client } = await withPeer(response => json(response, '', status));
      expect(await client.reports.financial({ year: 2025 })).toBeUndefined();
    }
  });
});

describe('rows', () => {
  const lists = (data: unknown) => withPeer(response => json(response, JSON.stringify({ success: true, data })));

  it('have one form for all variants of the source; unknown fields are kept', async () => {
    const { peer, client } = await withPeer(response =>
      json(
        response,
        `{"success": true, "data": [{"id": 9007199254740993, "customer_id": "7", "amount": 12345678901234567.890, "date": "",
          "due_date": "0000-00-00", "status": null, "invoice_number": 12, "items": [{"amount": "1500.00", "qty": 1e-7}], "tags": ["a"]}]}`,
      ),
    );
    const { rows, meta } = await client.invoices.list();
    expect(rows).toEqual([
      {
        id: '9007199254740993',
        customer_id: '7',
        amount: '12345678901234567.89',
        date: null,
        due_date: null,
        status: null,
        invoice_number: '12',
        items: [{ amount: '1500', qty: '0.0000001' }],
        tags: ['a'],
      },
    ]);
    expect([meta, peer.seen.length]).toEqual([undefined, 1]);
  });

  it('that do not match the document are named by list, row and field', async () => {
    const { client } = await lists([{ id: 1 }, { id: 2, amount: '1,50', items: [{ qty: true }, 7] }]);
    expect(await failure(client.invoices.list())).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/^\/api\/v2\/invoices, row 2 \(id 2\) does not match .*amount: expected a number/),
      fields: {
        amount: expect.stringContaining('expected a number'),
        'items.0.qty': expect.stringContaining('expected a number'),
        'items.1': 'expected an object',
      },
    });
    const without = await lists([{ account: 'A' }, 'x']);
    expect((await failure(without.client.customers.list())).fields).toEqual({ id: 'expected an id' });
  });

  it('of users have no password', async () => {
    const { client } = await setUp({ 'extra-fields': 'yes' });
    const { rows } = await client.users.list();
    expect(rows[0]).toHaveProperty('currency');
    expect(rows[0]).not.toHaveProperty('password');
  });
});

describe('single customers', () => {
  it.each(['bearer', 'query'] as const)('can be created, read, changed and deleted: %s', async auth => {
    const { client, sandbox } = await setUp({}, { client: { auth } });
    const created = await client.customers.create({ account: 'ACME', email: 'info@acme.example' });
    const id = created.id ?? '';
    expect([...sandbox.rows('customers')].at(-1)).toMatchObject({ id: Number(id), account: 'ACME' });
    expect(await client.customers.get(id)).toMatchObject({ id, account: 'ACME', phone: null });
    expect(await client.customers.update(Number(id), { phone: '123' })).toMatchObject({ id, message: 'Updated' });
    expect(await client.customers.get(id)).toMatchObject({ account: 'ACME', phone: '123' });
    expect(await client.customers.delete(id)).toBe(true);
    expect(await client.customers.delete(id)).toBe(false);
    expect(await client.customers.get(id)).toBeUndefined();
    expect(await client.customers.update(id, { phone: '1' })).toBeUndefined();
  });

  it('an id cannot be a path', async () => {
    const { client, sandbox } = await setUp();
    for (const id of ['', '1/../2', '-1', 1.5]) {
      expect(await failure(client.customers.delete(id))).toMatchObject({ kind: 'usage' });
    }
    expect(sandbox.stats.total).toBe(0);
  });
});

describe('a create', () => {
  it('arrives, for each endpoint', async () => {
    const { client, sandbox } = await setUp();
    const items = [{ description: 'Work', amount: '80.50', qty: 2 }];
    const created = [
      await client.invoices.create({ customer_id: '1', date: '2026-01-15', items, notes: 'thanks' }),
      await client.transactions.create({ type: 'Income', account_id: 1, amount: '0.10', date: '2026-01-15' }),
      await client.products.create({ name: 'Lamp', price: 25 }),
      await client.quotes.create({ customer_id: 1, valid_until: '2026-02-15', items }),
      await client.tickets.create({ customer_id: 1, subject: 'Help', department_id: 1 }),
      await client.leads.create({ first_name: 'Ann', last_name: 'Bee' }),
      await client.users.create({ name: 'Ann', email: 'ann@example.com', password: 'secret' }),
    ];
    const names = ['invoices', 'transactions', 'products', 'quotes', 'tickets', 'leads', 'users'] as const;
    expect(created.map(({ id }) => Number(id))).toEqual(names.map(name => [...sandbox.rows(name)].at(-1)?.id));
    expect([...sandbox.rows('invoices')].at(-1)).toMatchObject({ amount: 161, items: [{ amount: 80.5, qty: 2 }] });
    expect([...sandbox.rows('transactions')].at(-1)).toMatchObject({ amount: 0.1 });
  });

  it('is checked before anything is sent', async () => {
    const { client, sandbox } = await setUp();
    const error = await failure(
      client.transactions.create({ type: 'Income', account_id: 1, amount: 0, date: '15.1.2026' }),
    );
    expect(error).toMatchObject({
      kind: 'usage',
      fields: { amount: 'must be greater than 0', date: 'must be a date such as 2026-01-15' },
    });
    expect((await failure(client.invoices.list({ date_from: 'x', customer_id: 'y' }))).fields).toEqual({
      date_from: 'must be a date such as 2026-01-15',
      customer_id: 'must be an id such as 17',
    });
    expect(await failure(client.customers.list({ page: 0 }))).toMatchObject({ kind: 'usage' });
    expect(sandbox.stats.total).toBe(0);
  });

  it.each(['200', '400', '409', '422'] as const)('is refused with a message by field: %s', async validation => {
    const { client } = await setUp({ validation });
    const error = await failure(client.products.create({ name: 'Lamp' }));
    expect(error).toMatchObject({ kind: 'refused', status: Number(validation), outcomeUnknown: false });
    expect(Object.keys(error.fields ?? {})).toEqual(['price']);
  });

  it.each(['drop', 'reset', 'json-500', 'html-200', 'cut-json', 'hang'] as const)(
    'of unknown outcome is reported as such and not repeated: %s',
    async fault => {
      const { client, sandbox } = await setUp({}, { client: fault === 'hang' ? { timeoutMs: 300 } : {} });
      sandbox.failNext(fault);
      const error = await failure(client.leads.create({ company: 'ACME' }));
      expect(error).toMatchObject({
        kind: 'unavailable',
        outcomeUnknown: true,
        next: expect.stringContaining('check the source before'),
      });
      expect(sandbox.stats.total).toBe(1);
    },
  );

  it('is repeated after a 429, which created nothing', async () => {
    const { client, sandbox, clock } = await setUp({}, { sandbox: { rateLimit: 5 } });
    sandbox.spend(5);
    const before = [...sandbox.rows('leads')].length;
    await client.leads.create({ first_name: 'Ann', last_name: 'Bee' });
    const { rejected, total } = sandbox.stats;
    expect([[...sandbox.rows('leads')].length - before, total, rejected]).toEqual([1, 2, 1]);
    expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(HOUR - SECOND);
  });

  it('in a batch creates the valid entries, or all or nothing', async () => {
    const entries = [{ account: 'A', email: 'a@example.com' }, { account: 'B' }];
    const { client, sandbox } = await setUp();
    const before = [...sandbox.rows('customers')].length;
    const { data } = await client.batch.customers(entries);
    expect(data).toMatchObject([{ success: true }, { success: true }]);
    expect([...sandbox.rows('customers')]).toHaveLength(before + 2);
    expect((await failure(client.batch.customers([{ account: '' }]))).fields).toEqual({
      'customers.0.account': 'must not be empty',
    });
    sandbox.setVariants({ batch: 'all' });
    const refused = await failure(client.batch.customers([{ account: 'C', email: 'x@-.y' }]));
    expect(refused).toMatchObject({ kind: 'refused', fields: { 'customers.0.email': 'Invalid email format' } });
  });

  it('registers a webhook', async () => {
    const { client } = await setUp();
    const registered = await client.webhooks.register({ url: 'https://example.com/hook', events: ['invoice.created'] });
    expect(registered).toMatchObject({ id: '1', message: 'Registered' });
  });
});

it('a report has its sums as exact text', async () => {
  const { client, sandbox } = await setUp({ numbers: 'strings' });
  const sums = await client.reports.financial({ year: 2025 });
  expect(Object.keys(sums ?? {})).toEqual(['income', 'expenses', 'profit', 'outstanding_invoices']);
  expect(sums?.income).toMatch(/^\d+(\.\d+)?$/);
  sandbox.setVariants({ report: 'absent' });
  expect(await client.reports.financial()).toBeUndefined();
  expect(await failure(client.reports.financial({ month: 13 }))).toMatchObject({
    fields: { month: 'must be 1 to 12' },
  });
});

describe('the limit', () => {
  it('is never exceeded, and `onWait` reports the waiting', async () => {
    const waits: number[] = [];
    const { client, sandbox } = await setUp(
      { 'rate-headers': 'only-429' },
      { sandbox: { rateLimit: 20 }, client: { limit: 20, onWait: ms => waits.push(ms) } },
    );
    expect(await gather(client.customers.all({ limit: 5 }))).toHaveLength(150);
    expect([sandbox.stats.total, sandbox.stats.rejected]).toEqual([30, 0]);
    expect(sandbox.stats.maxInWindow).toBeLessThanOrEqual(20);
    expect(Math.max(...waits)).toBeLessThanOrEqual(HOUR);
    expect(waits.length).toBeGreaterThan(0);
  });

  it('is reserved for single calls once a long iteration has used half of it', async () => {
    const clock = manualClock();
    const { client, sandbox } = await setUp({}, { sandbox: { clock, rateLimit: 20 }, client: { clock, limit: 20 } });
    const all = failure(gather(client.customers.all({ limit: 5 })));
    await clock.sleepers();
    expect(sandbox.stats.total).toBe(10);
    expect(await client.customers.get(1)).toMatchObject({ id: '1' });
    await client.close();
    expect(await all).toMatchObject({ kind: 'stopped' });
  });
});

describe('stopping', () => {
  it('ends one call, in flight or between pages', async () => {
    const { client, sandbox } = await setUp();
    sandbox.failNext('hang', 1);
    const stop = new AbortController();
    const call = client.customers.list({}, { signal: stop.signal });
    await expect.poll(() => sandbox.stats.total).toBe(1);
    stop.abort();
    expect(await failure(call)).toMatchObject({ kind: 'stopped', outcomeUnknown: false });
    const later = new AbortController();
    let seen = 0;
    const reading = async () => {
      for await (const row of client.customers.all({ limit: 10 }, { signal: later.signal })) {
        if (row.id && ++seen === 10) later.abort();
      }
    };
    expect(await failure(reading())).toMatchObject({ kind: 'stopped' });
    expect([seen, sandbox.stats.total]).toEqual([10, 2]);
  });

  it('a create in flight has `outcomeUnknown`', async () => {
    const { client, sandbox } = await setUp();
    sandbox.failNext('hang');
    const stop = new AbortController();
    const call = client.leads.create({ company: 'ACME' }, { signal: stop.signal });
    await expect.poll(() => sandbox.stats.total).toBe(1);
    stop.abort();
    expect(await failure(call)).toMatchObject({ kind: 'stopped', outcomeUnknown: true });
  });

  it('ends every call, by the signal of the client or by closing it', async () => {
    const stop = new AbortController();
    const { client, sandbox } = await setUp({}, { client: { signal: stop.signal } });
    stop.abort();
    expect(await failure(client.users.list())).toMatchObject({ kind: 'stopped' });
    const other = createClient({ url: sandbox.url, apiKey: KEY });
    await other.close();
    expect(await failure(other.users.list())).toMatchObject({ kind: 'stopped' });
    expect(sandbox.stats.total).toBe(0);
  });
});

describe('errors', () => {
  it('name the options, never the environment variables, and contain no key', async () => {
    const wrong = (options: Partial<SluiceClientOptions>) => {
      try {
        createClient({ url: 'https://books.example.com', apiKey: KEY, ...options });
      } catch (error) {
        return error as SluiceError;
      }
      return undefined;
    };
    expect(wrong({ url: 'http://books.example.com' })).toMatchObject({
      kind: 'configuration',
      message: expect.stringMatching(/^`url` must begin with https/),
      next: "Example: url: 'https://books.example.com'",
    });
    expect(wrong({ apiKey: '' })?.message).toMatch(/^`apiKey` is empty/);
    expect(wrong({ auth: 'basic' as 'query' })?.fields).toEqual({ auth: 'must be bearer or query' });
    expect(wrong({ limit: 0, concurrency: 1.5 })).toMatchObject({
      kind: 'usage',
      fields: { limit: 'must be greater than 0', concurrency: 'must be a whole number' },
    });
    for (const auth of ['bearer', 'query'] as const) {
      const { client } = await setUp({}, { sandbox: { apiKey: 'another' }, client: { auth } });
      const error = await failure(client.users.list());
      expect(error).toMatchObject({ kind: 'unauthorized', status: 401, next: expect.stringContaining('`apiKey`') });
      expect(`${error.message} ${error.next}`).not.toMatch(/SOURCE_|sk_live/);
    }
    const { client, sandbox } = await setUp({}, { sandbox: { faults: { 'json-500': 1 } } });
    const down = await failure(client.users.list());
    expect(down).toMatchObject({ kind: 'unavailable', status: 500, outcomeUnknown: false });
    expect(down.next).toBe('Check that the source is up and `url` is right; try again later.');
    expect(sandbox.stats.total).toBe(6);
  });
});
