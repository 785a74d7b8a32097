import { describe, expect, test } from 'vitest';
import { SANDBOX_KEY } from '../../../sandbox/sandbox.ts';
import { idsOf, openForTest, request, requestAll } from '../test-client.ts';

describe('paging', () => {
  test('20 rows by default, newest id first, with meta', async () => {
    const sandbox = await openForTest();
    const { status, body } = await request(sandbox, '/api/v2/customers');
    expect(status).toBe(200);
    expect(body.success).toBe(true);
    expect(body.meta).toEqual({ current_page: 1, total_pages: 8, total_records: 150 });
    expect(idsOf(body.data)).toEqual(
      idsOf([...sandbox.rows('customers')])
        .reverse()
        .slice(0, 20),
    );
  });

  test.for(['customers', 'invoices', 'transactions'] as const)(
    'all pages of %s contain the rows of the source',
    async resource => {
      const sandbox = await openForTest();
      const rows = await requestAll(sandbox, `/api/v2/${resource}`);
      expect(rows.reverse()).toEqual([...sandbox.rows(resource)]);
    },
  );

  test('a large limit is clamped to 100; an invalid one counts as absent', async () => {
    const sandbox = await openForTest();
    expect((await request(sandbox, '/api/v2/invoices?limit=1000')).body.data).toHaveLength(100);
    for (const query of ['page=0&limit=0', 'page=-1&limit=-5', 'page=x&limit=1.5', 'page=&limit=']) {
      const { body } = await request(sandbox, `/api/v2/invoices?${query}`);
      expect(body.data).toHaveLength(20);
      expect(body.meta.current_page).toBe(1);
    }
  });

  test('a page past the end is empty', async () => {
    const sandbox = await openForTest();
    const { status, body } = await request(sandbox, '/api/v2/customers?page=9');
    expect(status).toBe(200);
    expect(body).toEqual({ success: true, data: [], meta: { current_page: 9, total_pages: 8, total_records: 150 } });
  });

  test('an empty list has one page', async () => {
    const sandbox = await openForTest({ size: { customers: 0, invoices: 0, transactions: 0 } });
    const { body } = await request(sandbox, '/api/v2/transactions');
    expect(body).toEqual({ success: true, data: [], meta: { current_page: 1, total_pages: 1, total_records: 0 } });
  });
});

describe('filters', () => {
  test('invoices by status, customer and dates, both ends included', async () => {
    const sandbox = await openForTest();
    const rows = [...sandbox.rows('invoices')].reverse();
    const open = await requestAll(sandbox, '/api/v2/invoices?status=Partially+Paid');
    expect(open).toEqual(rows.filter(row => row.status === 'Partially Paid'));
    expect(open.length).toBeGreaterThan(0);

    const customer = rows[0]?.customer_id as number;
    expect(await requestAll(sandbox, `/api/v2/invoices?customer_id=${customer}`)).toEqual(
      rows.filter(row => row.customer_id === customer),
    );

    const from = rows[400]?.date as string;
    const to = rows[100]?.date as string;
    const within = rows.filter(row => row.date !== null && row.date >= from && row.date <= to);
    expect(await requestAll(sandbox, `/api/v2/invoices?date_from=${from}&date_to=${to}`)).toEqual(within);
    expect(within.some(row => row.date === from) && within.some(row => row.date === to)).toBe(true);
  });

  test('transactions by type, account and an open-ended window', async () => {
    const sandbox = await openForTest();
    const rows = [...sandbox.rows('transactions')].reverse();
    expect(await requestAll(sandbox, '/api/v2/transactions?type=Expense&account_id=3')).toEqual(
      rows.filter(row => row.type === 'Expense' && row.account_id === 3),
    );
    const day = rows[200]?.date as string;
    expect(await requestAll(sandbox, `/api/v2/transactions?date_from=${day}`)).toEqual(
      rows.filter(row => (row.date ?? '') >= day),
    );
    expect(await requestAll(sandbox, `/api/v2/transactions?date_to=${day}`)).toEqual(
      rows.filter(row => (row.date ?? '9') <= day),
    );
  });

  test('customers by search, ignoring case', async () => {
    const sandbox = await openForTest();
    const found = await requestAll(sandbox, '/api/v2/customers?search=bakery');
    expect(found).toEqual([...sandbox.rows('customers')].reverse().filter(row => row.account.includes('Bakery')));
    expect(found.length).toBeGreaterThan(0);
  });

  test('customers by a part of their e-mail address or phone number', async () => {
    const sandbox = await openForTest();
    const row = [...sandbox.rows('customers')].find(each => each.email && each.phone);
    for (const part of [row?.email?.slice(1), row?.phone?.slice(-8)]) {
      const found = await requestAll(sandbox, `/api/v2/customers?search=${encodeURIComponent(part as string)}`);
      expect(idsOf(found)).toContain(row?.id);
      expect(found.length).toBeLessThan(20);
    }
    expect((await request(sandbox, '/api/v2/customers?search=nobody-is-called-so')).body.data).toEqual([]);
  });

  test('tickets by status and department', async () => {
    const sandbox = await openForTest();
    const found = await requestAll(sandbox, '/api/v2/tickets?status=Open&department_id=2');
    expect(found).toEqual(
      [...sandbox.rows('tickets')].reverse().filter(row => row.status === 'Open' && row.department_id === 2),
    );
  });

  test('an unknown status matches nothing; an invalid date is rejected', async () => {
    const sandbox = await openForTest();
    expect((await request(sandbox, '/api/v2/invoices?status=Void')).body.data).toEqual([]);
    const { status, body } = await request(sandbox, '/api/v2/invoices?date_from=2026-02-30');
    expect(status).toBe(400);
    expect(body).toEqual({
      success: false,
      errors: { date_from: 'Invalid date, expected YYYY-MM-DD' },
      message: 'Validation failed',
    });
  });
});

describe('the other lists', () => {
  test.for(['products', 'quotes', 'tickets', 'users', 'orders', 'suppliers', 'purchases'] as const)(
    '%s',
    async resource => {
      const sandbox = await openForTest();
      const rows = await requestAll(sandbox, `/api/v2/${resource}`);
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.reverse()).toEqual([...sandbox.rows(resource)]);
    },
  );

  test('the financial report is the exact sum of the month', async () => {
    const sandbox = await openForTest();
    const month = '2025-11';
    const cents = (type: string) =>
      [...sandbox.rows('transactions')]
        .filter(row => row.type === type && row.date?.startsWith(month))
        .reduce((sum, row) => sum + Number(row.amount), 0);
    const { body } = await request(sandbox, '/api/v2/reports/financial?year=2025&month=11');
    expect(body.data.income).toBeCloseTo(cents('Income'), 6);
    expect(body.data.expenses).toBeCloseTo(cents('Expense'), 6);
    expect(body.data.profit).toBeCloseTo(cents('Income') - cents('Expense'), 6);
    const wrong = await request(sandbox, '/api/v2/reports/financial?year=2025&month=13');
    expect(wrong.status).toBe(400);
  });

  test('the financial report includes amounts that JSON writes with an exponent', async () => {
    const sandbox = await openForTest();
    for (const amount of [1e21, 1e-7])
      await request(sandbox, '/api/v2/transactions', {
        body: { type: 'Income', account_id: 1, amount, category_id: 1, description: 'x', date: '1999-05-01' },
      });
    const { text } = await request(sandbox, '/api/v2/reports/financial?year=1999&month=5');
    expect(text).toContain('"income":1000000000000000000000.0000001,');
  });
});

describe('keys', () => {
  test('both ways to send the key give the same response', async () => {
    const sandbox = await openForTest();
    const direct = await request(sandbox, '/api/v2/invoices?status=Unpaid&limit=5&page=2');
    const beside = await request(
      sandbox,
      `/?api_key=${sandbox.apiKey}&ng=api/v2/invoices&status=Unpaid&limit=5&page=2`,
      {
        key: null,
      },
    );
    const inside = await request(
      sandbox,
      `/?api_key=${sandbox.apiKey}&ng=${encodeURIComponent('/api/v2/invoices?status=Unpaid&limit=5&page=2')}`,
      { key: null },
    );
    expect(direct.body.data).toHaveLength(5);
    expect(beside.body).toEqual(direct.body);
    expect(inside.body).toEqual(direct.body);
  });

  test('the key in the query works for every method', async () => {
    const sandbox = await openForTest();
    const at = (path: string) => `/?api_key=${sandbox.apiKey}&ng=${encodeURIComponent(path)}`;
    const created = await request(sandbox, at('api/v2/customers'), { body: { account: 'New' }, key: null });
    expect(created.status).toBe(201);
    const one = `/api/v2/customers/${created.body.data.id}`;
    const changed = await request(sandbox, at(one), { method: 'PUT', body: { city: 'Bern' }, key: null });
    expect(changed.body.data).toMatchObject({ account: 'New', city: 'Bern' });
    expect((await request(sandbox, at(one), { key: null })).body.data).toEqual(changed.body.data);
    expect((await request(sandbox, at(one), { method: 'DELETE', key: null })).status).toBe(200);
    expect((await request(sandbox, one)).status).toBe(404);
  });

  test('a request with an invalid or missing key gets 401 and is not counted', async () => {
    const sandbox = await openForTest();
    for (const answer of [
      await request(sandbox, '/api/v2/customers', { key: 'other' }),
      await request(sandbox, '/api/v2/customers', { key: null }),
      await request(sandbox, `/api/v2/customers?api_key=${sandbox.apiKey}`, { key: null }),
      await request(sandbox, '/?api_key=other&ng=api/v2/customers', { key: null }),
    ]) {
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({ success: false, message: 'Invalid API key or unauthorized access' });
      expect(answer.headers.get('x-ratelimit-limit')).toBe('1000');
    }
    expect((await request(sandbox, '/api/v2/customers')).headers.get('x-ratelimit-remaining')).toBe('999');
  });

  test('the key is configurable', async () => {
    const sandbox = await openForTest({ apiKey: 'chosen' });
    expect((await request(sandbox, '/api/v2/customers')).status).toBe(200);
    expect((await request(sandbox, '/api/v2/customers', { key: SANDBOX_KEY })).status).toBe(401);
  });

  test('unknown paths and methods are 404 in JSON', async () => {
    const sandbox = await openForTest();
    for (const answer of [
      await request(sandbox, '/api/v2/nothing'),
      await request(sandbox, '/api/v1/customers'),
      await request(sandbox, '/api/v2/invoices/1'),
      await request(sandbox, '/api/v2/invoices', { method: 'DELETE' }),
      await request(sandbox, '/'),
    ]) {
      expect(answer.status).toBe(404);
      expect(answer.body).toEqual({ success: false, message: 'Not found' });
    }
  });
});
