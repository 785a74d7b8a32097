import { expect, test } from 'vitest';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { type Body, openForTest, request, requestAll } from '../test-client.ts';

const openWith = (variants: Partial<Variants>) => openForTest({ variants, rateLimit: 0 });

const first = async (variants: Partial<Variants>, path: string): Promise<Body> =>
  (await request(await openWith(variants), path)).body.data[0];

test('bare invoices and customers, and rows without ids', async () => {
  const sandbox = await openWith({
    'invoice-fields': 'bare',
    'customer-fields': 'bare',
    'transaction-ids': 'no',
    'other-ids': 'no',
  });
  const fields = async (list: string) =>
    Object.keys((await request(sandbox, `/api/v2/${list}`)).body.data[0])
      .sort()
      .join();
  expect(await fields('invoices')).toBe('amount,customer_id,due_date,id,invoice_number,items,status');
  expect(await fields('customers')).toBe('account,address,city,country,email,id,phone,state,zip');
  expect(await fields('transactions')).toBe('account_id,amount,category_id,date,description,type');
  expect(await fields('users')).toBe('email,name,role');
});

test('extra fields', async () => {
  expect(await first({ 'extra-fields': 'yes' }, '/api/v2/invoices')).toMatchObject({ currency: 'EUR' });
  expect(await first({ 'extra-fields': 'yes' }, '/api/v2/users')).toHaveProperty('password');
});

test.for([
  ['null', null],
  ['empty', ''],
  ['absent', undefined],
  ['zero-date', '0000-00-00'],
] as const)('none=%s', async ([style, written]) => {
  const sandbox = await openWith({ none: style, undated: 'yes', paging: 'whole', order: 'id-asc' });
  const rows = [...sandbox.rows('invoices')];
  const undated = rows.findIndex(row => row.date === null);
  expect(undated).toBeGreaterThanOrEqual(0);
  const shown = (await request(sandbox, '/api/v2/invoices')).body.data;
  expect(shown[undated].date).toBe(written);
  const noted = rows.findIndex(row => row.notes === null);
  expect(shown[noted].notes).toBe(style === 'zero-date' ? null : written);
  const dated = await request(sandbox, '/api/v2/invoices?date_from=1990-01-01&date_to=2090-01-01');
  expect(dated.body.data).toHaveLength(rows.filter(row => row.date !== null).length);
});

test('lists and items as objects, with and without gaps', async () => {
  for (const [lists, step] of [
    ['object', 1],
    ['gaps', 2],
  ] as const) {
    const sandbox = await openWith({ lists });
    const { data } = (await request(sandbox, '/api/v2/invoices?limit=3')).body;
    expect(Object.keys(data)).toEqual(['0', String(step), String(2 * step)]);
    const real = [...sandbox.rows('invoices')].at(-1);
    expect([data[0].id, Object.values(data[0].items)]).toEqual([real?.id, real?.items]);
    expect(Object.keys(data[0].items)).toEqual(real?.items.map((_, index) => String(index * step)));
    expect((await request(sandbox, '/api/v2/invoices?status=None')).body.data).toEqual([]);
  }
});

test('timestamps since the epoch, as numbers or as text', async () => {
  const stamp = async (variants: Partial<Variants>) => (await first(variants, '/api/v2/customers')).created_at;
  const iso = await stamp({});
  expect(await stamp({ timestamps: 'epoch' })).toBe(Date.parse(iso) / 1000);
  expect(await stamp({ timestamps: 'epoch-ms' })).toBe(Date.parse(iso));
  expect(await stamp({ timestamps: 'epoch', numbers: 'strings' })).toBe(String(Date.parse(iso) / 1000));
});

test('numbers as strings, in all rows or in every second one', async () => {
  const sandbox = await openWith({ numbers: 'strings', order: 'id-asc', paging: 'whole' });
  const rows = [...sandbox.rows('invoices')];
  for (const [index, row] of (await request(sandbox, '/api/v2/invoices')).body.data.entries()) {
    const real = rows[index];
    expect([row.id, row.customer_id]).toEqual([String(real?.id), String(real?.customer_id)]);
    expect(row.amount).toMatch(/^\d+\.\d{2,}$/);
    expect(Number(row.amount)).toBe(real?.amount);
    expect(typeof row.items[0].qty).toBe('string');
  }
  sandbox.setVariants({ numbers: 'mixed' });
  const kinds = new Set((await request(sandbox, '/api/v2/invoices')).body.data.map((row: Body) => typeof row.amount));
  expect(kinds).toEqual(new Set(['string', 'number']));
});

test('only amounts as strings, or only ids', async () => {
  const sandbox = await openWith({ numbers: 'string-amounts' });
  const types = async () => {
    const { id, customer_id, amount, items } = (await request(sandbox, '/api/v2/invoices')).body.data[0];
    return [id, customer_id, amount, items[0].amount, items[0].qty].map(value => typeof value).join(' ');
  };
  expect(await types()).toBe('number number string string number');
  expect(typeof (await request(sandbox, '/api/v2/reports/financial?year=2025')).body.data.income).toBe('string');
  sandbox.setVariants({ numbers: 'string-ids' });
  expect(await types()).toBe('string string number number number');
  expect(typeof (await request(sandbox, '/api/v2/customers/1')).body.data.id).toBe('string');
});

test('digits=beyond: numbers that a double would round', async () => {
  const sandbox = await openWith({ digits: 'beyond', paging: 'whole' });
  expect((await request(sandbox, '/api/v2/invoices')).text).toMatch(/"amount":9007199254740993\.\d\d,/);
  expect([...sandbox.rows('invoices')].some(row => String(row.amount).startsWith('9007199254740993.'))).toBe(true);
  expect((await request(sandbox, '/api/v2/transactions')).text).toMatch(/"amount":\d+\.12345678901234567891,/);
});

test.for([
  ['z', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/],
  ['micros', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000000Z$/],
  ['zoneless', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/],
] as const)('timestamps=%s', async ([timestamps, pattern]) => {
  const row = await first({ timestamps }, '/api/v2/customers');
  expect(row.created_at).toMatch(pattern);
  expect(row.updated_at).toMatch(pattern);
});

test('states=more', async () => {
  const sandbox = await openForTest({ size: 'medium', variants: { states: 'more' } });
  const states = new Set([...sandbox.rows('invoices')].map(row => row.status));
  expect([...states].sort()).toEqual(['Cancelled', 'Draft', 'Paid', 'Partially Paid', 'Unpaid', 'Void']);
  expect((await request(sandbox, '/api/v2/invoices?status=Void')).body.meta.total_records).toBeGreaterThan(0);
  expect((await request(sandbox, '/api/v2/transactions?type=Transfer')).body.meta.total_records).toBeGreaterThan(0);
});

test('visible=half and none', async () => {
  const sandbox = await openWith({ visible: 'half' });
  const { id } = [...sandbox.rows('customers')].find(row => row.id % 2 === 1) as { id: number };
  expect((await requestAll(sandbox, '/api/v2/customers')).every(row => row.id % 2 === 0)).toBe(true);
  expect((await request(sandbox, `/api/v2/customers/${id}`)).status).toBe(404);
  sandbox.setVariants({ visible: 'none' });
  expect((await request(sandbox, '/api/v2/customers')).body.data).toEqual([]);
});
