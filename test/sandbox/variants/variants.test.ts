import { describe, expect, test } from 'vitest';
import type { SluiceError } from '../../../src/errors.ts';
import {
  describeVariants,
  parseVariants,
  type Variants,
  variantPoints,
} from '../../../src/sandbox/variants/variants.ts';
import { ask, askAll, type Body, idsOf, openForTest } from '../test-client.ts';

async function openWith(variants: Partial<Variants>) {
  return openForTest({ variants, rateLimit: 0 });
}

describe('the table', () => {
  test('text is read, spaces and an empty text included', () => {
    expect(parseVariants('paging=capped, order = shuffled,')).toEqual({ paging: 'capped', order: 'shuffled' });
    expect(parseVariants('')).toEqual({});
  });

  test('a wrong name or value is a usage error that names the allowed ones', () => {
    const failure = (text: string) => {
      try {
        parseVariants(text);
      } catch (error) {
        return error as SluiceError;
      }
      throw new Error('accepted');
    };
    expect(failure('sorting=up')).toMatchObject({ kind: 'usage', message: 'There is no variant "sorting".' });
    expect(failure('sorting=up').next).toContain('paging, ');
    expect(failure('order=up')).toMatchObject({
      kind: 'usage',
      message: 'The variant "order" has no value "up".',
      next: 'Values of order: id-desc, id-asc, updated-desc, updated-asc, date-desc, date-desc-loose, shuffled.',
    });
    expect(failure('order')).toMatchObject({ kind: 'usage' });
    expect(failure('toString=1')).toMatchObject({ kind: 'usage' });
  });

  test('the description names every point and value', () => {
    const text = describeVariants();
    for (const [name, { values, likely }] of Object.entries(variantPoints)) {
      expect(text).toContain(`${name}: `);
      for (const value of Object.keys(values)) expect(text).toContain(` ${value}: `);
      expect(text).toContain(`* ${likely}: `);
    }
  });

  test('they can change while it runs, but for those fixed at opening', async () => {
    const sandbox = await openWith({});
    sandbox.setVariants({ 'transaction-ids': 'no' });
    expect((await ask(sandbox, '/api/v2/transactions')).body.data[0]).not.toHaveProperty('id');
    expect(() => sandbox.setVariants({ states: 'more' })).toThrow('Fixed when the sandbox is opened: states.');
  });
});

describe('paging', () => {
  test('customers always have meta', async () => {
    const sandbox = await openWith({ paging: 'whole' });
    expect((await ask(sandbox, '/api/v2/customers?limit=5')).body.meta.total_pages).toBe(30);
  });

  test('whole: everything in one body, also when it is long', async () => {
    const sandbox = await openWith({ paging: 'whole', order: 'id-asc' });
    const { body } = await ask(sandbox, '/api/v2/transactions?page=2&limit=10');
    expect(body).toEqual({ success: true, data: [...sandbox.rows('transactions')] });
  });

  test('no-meta: pages without meta', async () => {
    const sandbox = await openWith({ paging: 'no-meta' });
    expect((await ask(sandbox, '/api/v2/invoices')).body).not.toHaveProperty('meta');
    expect((await askAll(sandbox, '/api/v2/invoices')).reverse()).toEqual([...sandbox.rows('invoices')]);
  });

  test('capped: at most `cap` rows, whatever the page', async () => {
    const sandbox = await openWith({ paging: 'capped' });
    const { body } = await ask(sandbox, '/api/v2/invoices?page=2&limit=10');
    expect(body.data).toHaveLength(500);
    expect(body).not.toHaveProperty('meta');
    expect((await ask(sandbox, '/api/v2/invoices?status=Unpaid')).body.data.length).toBeLessThan(100);
    sandbox.setVariants({ cap: '100' });
    expect((await ask(sandbox, '/api/v2/invoices')).body.data).toHaveLength(100);
  });

  test('ignored: page 1 for ever', async () => {
    const sandbox = await openWith({ paging: 'ignored' });
    const [one, two] = [
      await ask(sandbox, '/api/v2/invoices?limit=7'),
      await ask(sandbox, '/api/v2/invoices?limit=7&page=2'),
    ];
    expect(one.body.data).toHaveLength(7);
    expect(two.text).toBe(one.text);
  });

  test('past-end', async () => {
    const sandbox = await openWith({ 'past-end': '404' });
    const { status, body } = await ask(sandbox, '/api/v2/customers?page=9');
    expect([status, body]).toEqual([404, { success: false, message: 'Page not found' }]);
    sandbox.setVariants({ 'past-end': 'last-page' });
    const last = await ask(sandbox, '/api/v2/customers?page=8');
    expect(last.body.data).toHaveLength(10);
    expect((await ask(sandbox, '/api/v2/customers?page=900')).text).toBe(last.text);
  });

  test.for([
    ['100', 1000, 100],
    ['1000', 1000, 600],
    ['100-reject', 101, 400],
    ['100-reject', 100, 100],
    ['20-reject', 21, 400],
    ['20-reject', 20, 20],
    ['honoured', 1000, 600],
    ['ignored', 1000, 20],
    ['ignored', 5, 20],
  ] as const)('limit-max=%s, limit %i: %i', async ([style, limit, expected]) => {
    const sandbox = await openWith({ 'limit-max': style });
    const { status, body } = await ask(sandbox, `/api/v2/invoices?limit=${limit}`);
    if (expected === 400) expect([status, Object.keys(body.errors)]).toEqual([400, ['limit']]);
    else expect(body.data).toHaveLength(expected);
  });
});

describe('order', () => {
  test('id-asc, and a fixed arbitrary one', async () => {
    const sandbox = await openWith({ order: 'id-asc' });
    const rows = [...sandbox.rows('invoices')];
    expect(idsOf(await askAll(sandbox, '/api/v2/invoices'))).toEqual(idsOf(rows));
    sandbox.setVariants({ order: 'shuffled' });
    const shuffled = idsOf(await askAll(sandbox, '/api/v2/invoices'));
    expect(shuffled).not.toEqual(idsOf(rows));
    expect([...shuffled].sort((a, b) => a - b)).toEqual(idsOf(rows));
    expect(idsOf(await askAll(sandbox, '/api/v2/invoices'))).toEqual(shuffled);
  });

  test('updated-desc: what changed last comes first', async () => {
    const sandbox = await openWith({ order: 'updated-desc' });
    const stamps = (await askAll(sandbox, '/api/v2/customers')).map(row => row.updated_at);
    expect(stamps).toEqual([...stamps].sort((a, b) => b.localeCompare(a)));
    for (const kind of ['customer-edited', 'invoice-moved', 'transaction-edited'] as const) {
      const { resource, id } = sandbox.change(kind);
      expect((await ask(sandbox, `/api/v2/${resource}`)).body.data[0].id).toBe(id);
      sandbox.setVariants({ order: 'updated-asc' });
      expect((await askAll(sandbox, `/api/v2/${resource}`)).at(-1).id).toBe(id);
      sandbox.setVariants({ order: 'updated-desc' });
    }
  });

  test('date-desc: equal dates by id, or loose', async () => {
    const sandbox = await openForTest({ variants: { order: 'date-desc' }, size: 'medium', rateLimit: 0 });
    const read = async () => (await ask(sandbox, '/api/v2/transactions?limit=100')).body.data as Body[];
    const firm = await read();
    expect(firm).toEqual(
      [...sandbox.rows('transactions')]
        .sort((a, b) => (b.date ?? '').localeCompare(a.date ?? '') || b.id - a.id)
        .slice(0, 100),
    );
    sandbox.setVariants({ order: 'date-desc-loose' });
    const [one, two] = [await read(), await read()];
    expect(one.map(row => row.date)).toEqual(firm.map(row => row.date));
    expect(idsOf(one)).not.toEqual(idsOf(two));
  });
});

describe('filters', () => {
  test('date-to=exclusive', async () => {
    const sandbox = await openWith({ 'date-to': 'exclusive' });
    const day = [...sandbox.rows('transactions')][700]?.date as string;
    expect((await ask(sandbox, `/api/v2/transactions?date_from=${day}&date_to=${day}`)).body.data).toEqual([]);
    const rows = await askAll(sandbox, `/api/v2/transactions?date_to=${day}`);
    expect(rows.every(row => row.date < day)).toBe(true);
    expect(rows.length).toBeGreaterThan(0);
  });

  test('date-filter=ignored and pair-only', async () => {
    const sandbox = await openWith({ 'date-filter': 'ignored' });
    const total = async (query: string) => (await ask(sandbox, `/api/v2/invoices?${query}`)).body.meta.total_records;
    expect(await total('date_from=2025-06-01&date_to=2025-06-30')).toBe(600);
    sandbox.setVariants({ 'date-filter': 'pair-only' });
    expect(await total('date_from=2025-06-01')).toBe(600);
    expect(await total('date_to=2025-06-30')).toBe(600);
    expect(await total('date_from=2025-06-01&date_to=2025-06-30')).toBeLessThan(60);
  });

  test('filters=ignored', async () => {
    const sandbox = await openWith({ filters: 'ignored' });
    expect((await ask(sandbox, '/api/v2/invoices?status=Unpaid&customer_id=1')).body.meta.total_records).toBe(600);
    expect((await ask(sandbox, '/api/v2/transactions?type=Income&account_id=1')).body.meta.total_records).toBe(1500);
  });
});

describe('rows', () => {
  const first = async (variants: Partial<Variants>, path: string): Promise<Body> =>
    (await ask(await openWith(variants), path)).body.data[0];

  test('bare invoices and customers, rows without ids', async () => {
    const sandbox = await openWith({
      'invoice-fields': 'bare',
      'customer-fields': 'bare',
      'transaction-ids': 'no',
      'other-ids': 'no',
    });
    const fields = async (list: string) =>
      Object.keys((await ask(sandbox, `/api/v2/${list}`)).body.data[0])
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
    const shown = (await ask(sandbox, '/api/v2/invoices')).body.data;
    expect(shown[undated].date).toBe(written);
    const noted = rows.findIndex(row => row.notes === null);
    expect(shown[noted].notes).toBe(style === 'zero-date' ? null : written);
    const dated = await ask(sandbox, '/api/v2/invoices?date_from=1990-01-01&date_to=2090-01-01');
    expect(dated.body.data).toHaveLength(rows.filter(row => row.date !== null).length);
  });

  test('numbers as strings, in all rows or in every other one', async () => {
    const sandbox = await openWith({ numbers: 'strings', order: 'id-asc', paging: 'whole' });
    const rows = [...sandbox.rows('invoices')];
    for (const [index, row] of (await ask(sandbox, '/api/v2/invoices')).body.data.entries()) {
      const real = rows[index];
      expect([row.id, row.customer_id]).toEqual([String(real?.id), String(real?.customer_id)]);
      expect(row.amount).toMatch(/^\d+\.\d{2,}$/);
      expect(Number(row.amount)).toBe(real?.amount);
      expect(typeof row.items[0].qty).toBe('string');
    }
    sandbox.setVariants({ numbers: 'mixed' });
    const kinds = new Set((await ask(sandbox, '/api/v2/invoices')).body.data.map((row: Body) => typeof row.amount));
    expect(kinds).toEqual(new Set(['string', 'number']));
  });

  test('only amounts as strings, or only ids', async () => {
    const sandbox = await openWith({ numbers: 'string-amounts' });
    const types = async () => {
      const { id, customer_id, amount, items } = (await ask(sandbox, '/api/v2/invoices')).body.data[0];
      return [id, customer_id, amount, items[0].amount, items[0].qty].map(value => typeof value).join(' ');
    };
    expect(await types()).toBe('number number string string number');
    expect(typeof (await ask(sandbox, '/api/v2/reports/financial?year=2025')).body.data.income).toBe('string');
    sandbox.setVariants({ numbers: 'string-ids' });
    expect(await types()).toBe('string string number number number');
    expect(typeof (await ask(sandbox, '/api/v2/customers/1')).body.data.id).toBe('string');
  });

  test('digits=beyond: numerals that a double would round', async () => {
    const sandbox = await openWith({ digits: 'beyond', paging: 'whole' });
    expect((await ask(sandbox, '/api/v2/invoices')).text).toMatch(/"amount":9007199254740993\.\d\d,/);
    expect([...sandbox.rows('invoices')].some(row => String(row.amount).startsWith('9007199254740993.'))).toBe(true);
    expect((await ask(sandbox, '/api/v2/transactions')).text).toMatch(/"amount":\d+\.12345678901234567891,/);
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
    expect((await ask(sandbox, '/api/v2/invoices?status=Void')).body.meta.total_records).toBeGreaterThan(0);
    expect((await ask(sandbox, '/api/v2/transactions?type=Transfer')).body.meta.total_records).toBeGreaterThan(0);
  });

  test('visible: half of the rows, or none', async () => {
    const sandbox = await openWith({ visible: 'half' });
    const { id } = [...sandbox.rows('customers')].find(row => row.id % 2 === 1) as { id: number };
    expect((await askAll(sandbox, '/api/v2/customers')).every(row => row.id % 2 === 0)).toBe(true);
    expect((await ask(sandbox, `/api/v2/customers/${id}`)).status).toBe(404);
    sandbox.setVariants({ visible: 'none' });
    expect((await ask(sandbox, '/api/v2/customers')).body.data).toEqual([]);
  });
});

describe('answers', () => {
  test('other statuses for the same refusals', async () => {
    const sandbox = await openWith({ validation: '422', 'auth-error': '403' });
    expect((await ask(sandbox, '/api/v2/customers', { body: {} })).status).toBe(422);
    expect((await ask(sandbox, '/api/v2/customers', { key: 'other' })).status).toBe(403);
    sandbox.setVariants({ validation: '200', 'auth-error': '200' });
    const refused = await ask(sandbox, '/api/v2/invoices?date_from=yesterday');
    expect([refused.status, refused.body]).toMatchObject([200, { success: false, message: 'Validation failed' }]);
    const unknown = await ask(sandbox, '/api/v2/customers', { key: 'other' });
    expect([unknown.status, unknown.body.success]).toEqual([200, false]);
  });

  test('orders, suppliers and purchases may not be offered, nor the report', async () => {
    const sandbox = await openWith({ 'other-lists': '405', report: 'absent' });
    expect((await ask(sandbox, '/api/v2/orders')).status).toBe(405);
    expect((await ask(sandbox, '/api/v2/reports/financial')).status).toBe(404);
    sandbox.setVariants({ 'other-lists': '404' });
    expect((await ask(sandbox, '/api/v2/suppliers')).status).toBe(404);
  });

  test('report=other-rules gives other sums', async () => {
    const sandbox = await openForTest({ size: 'medium' });
    const path = '/api/v2/reports/financial?year=2025';
    const usual = (await ask(sandbox, path)).body.data;
    sandbox.setVariants({ report: 'other-rules' });
    const other = (await ask(sandbox, path)).body.data;
    expect(other.income).toBeLessThan(usual.income);
    expect(other.expenses).toBeGreaterThan(usual.expenses);
  });

  test('batch=all: one wrong entry refuses all', async () => {
    const sandbox = await openWith({ batch: 'all' });
    const { status, body } = await ask(sandbox, '/api/v2/batch/customers', {
      body: { customers: [{ account: 'One' }, { account: 'Two', email: 'nonsense' }] },
    });
    expect(status).toBe(400);
    expect(body.errors).toEqual({ 'customers.1.email': 'Invalid email format' });
    expect(sandbox.data.customers.size).toBe(150);
  });
});
