import { describe, expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { type Body, idsOf, openForTest, request, requestAll } from '../test-client.ts';

const openWith = (variants: Partial<Variants>) => openForTest({ variants, rateLimit: 0 });

describe('paging', () => {
  test('customers always have meta', async () => {
    const sandbox = await openWith({ paging: 'whole' });
    expect((await request(sandbox, '/api/v2/customers?limit=5')).body.meta.total_pages).toBe(30);
  });

  test('whole: everything in one body, even if long', async () => {
    const sandbox = await openWith({ paging: 'whole', order: 'id-asc' });
    const { body } = await request(sandbox, '/api/v2/transactions?page=2&limit=10');
    expect(body).toEqual({ success: true, data: [...sandbox.rows('transactions')] });
  });

  test('no-meta: pages without meta', async () => {
    const sandbox = await openWith({ paging: 'no-meta' });
    expect((await request(sandbox, '/api/v2/invoices')).body).not.toHaveProperty('meta');
    expect((await requestAll(sandbox, '/api/v2/invoices')).reverse()).toEqual([...sandbox.rows('invoices')]);
  });

  test('capped: at most `cap` rows, whatever the page', async () => {
    const sandbox = await openWith({ paging: 'capped' });
    const { body } = await request(sandbox, '/api/v2/invoices?page=2&limit=10');
    expect(body.data).toHaveLength(500);
    expect(body).not.toHaveProperty('meta');
    expect((await request(sandbox, '/api/v2/invoices?status=Unpaid')).body.data.length).toBeLessThan(100);
    sandbox.setVariants({ cap: '100' });
    expect((await request(sandbox, '/api/v2/invoices')).body.data).toHaveLength(100);
  });

  test('ignored: always page 1', async () => {
    const sandbox = await openWith({ paging: 'ignored' });
    const [one, two] = [
      await request(sandbox, '/api/v2/invoices?limit=7'),
      await request(sandbox, '/api/v2/invoices?limit=7&page=2'),
    ];
    expect(one.body.data).toHaveLength(7);
    expect(two.text).toBe(one.text);
  });

  test('past-end', async () => {
    const sandbox = await openWith({ 'past-end': '404' });
    const { status, body } = await request(sandbox, '/api/v2/customers?page=9');
    expect([status, body]).toEqual([404, { success: false, message: 'Page not found' }]);
    sandbox.setVariants({ 'past-end': 'last-page' });
    const last = await request(sandbox, '/api/v2/customers?page=8');
    expect(last.body.data).toHaveLength(10);
    expect((await request(sandbox, '/api/v2/customers?page=900')).text).toBe(last.text);
    sandbox.setVariants({ 'behind-end': 'first-page' });
    const first = await request(sandbox, '/api/v2/customers?page=1');
    expect((await request(sandbox, '/api/v2/customers?page=900')).text).toBe(first.text);
    sandbox.setVariants({ 'behind-end': 'refused' });
    const refused = await request(sandbox, '/api/v2/customers?page=9');
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ['page']]);
    expect((await request(sandbox, '/api/v2/customers?page=8')).text).toBe(last.text);
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
    ['137', 1000, 137],
    ['37-reject', 38, 400],
    ['ignored-25', 1000, 25],
  ] as const)('limit-max=%s, limit %i: %i', async ([style, limit, expected]) => {
    const sandbox = await openWith(parseVariants(`limit-max=${style}`));
    const { status, body } = await request(sandbox, `/api/v2/invoices?limit=${limit}`);
    if (expected === 400) expect([status, Object.keys(body.errors)]).toEqual([400, ['limit']]);
    else expect(body.data).toHaveLength(expected);
  });
});

describe('order', () => {
  test('id-asc, and a fixed arbitrary order', async () => {
    const sandbox = await openWith({ order: 'id-asc' });
    const rows = [...sandbox.rows('invoices')];
    expect(idsOf(await requestAll(sandbox, '/api/v2/invoices'))).toEqual(idsOf(rows));
    sandbox.setVariants({ order: 'shuffled' });
    const shuffled = idsOf(await requestAll(sandbox, '/api/v2/invoices'));
    expect(shuffled).not.toEqual(idsOf(rows));
    expect([...shuffled].sort((a, b) => a - b)).toEqual(idsOf(rows));
    expect(idsOf(await requestAll(sandbox, '/api/v2/invoices'))).toEqual(shuffled);
  });

  test('updated-desc: the most recently changed row comes first', async () => {
    const sandbox = await openWith({ order: 'updated-desc' });
    const stamps = (await requestAll(sandbox, '/api/v2/customers')).map(row => row.updated_at);
    expect(stamps).toEqual([...stamps].sort((a, b) => b.localeCompare(a)));
    for (const kind of ['customer-edited', 'invoice-moved', 'transaction-edited'] as const) {
      const { resource, id } = sandbox.change(kind);
      expect((await request(sandbox, `/api/v2/${resource}`)).body.data[0].id).toBe(id);
      sandbox.setVariants({ order: 'updated-asc' });
      expect((await requestAll(sandbox, `/api/v2/${resource}`)).at(-1).id).toBe(id);
      sandbox.setVariants({ order: 'updated-desc' });
    }
  });

  test('date-desc: ties by id, or in a different order on every request', async () => {
    const sandbox = await openForTest({ variants: { order: 'date-desc' }, size: 'medium', rateLimit: 0 });
    const read = async () => (await request(sandbox, '/api/v2/transactions?limit=100')).body.data as Body[];
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

describe('values', () => {
  test('ids=edge: three rows have ids at and beyond 64 bits, by which lists are ordered and filtered', async () => {
    const sandbox = await openWith({ ids: 'edge' });
    const { text } = await request(sandbox, '/api/v2/customers?limit=4');
    const ids = [...text.matchAll(/"id":(\d+)/g)].map(([, id]) => id);
    expect(ids.slice(0, 3)).toEqual(['12345678901234567890', '9223372036854775808', '9223372036854775807']);
    sandbox.setVariants({ order: 'id-asc' });
    expect((await request(sandbox, '/api/v2/customers?limit=1')).body.data[0]?.id).toBe(4);
    const one = await request(sandbox, '/api/v2/customers/9223372036854775807');
    expect(one.text).toContain('"id":9223372036854775807,');
    expect((await request(sandbox, '/api/v2/customers/1')).status).toBe(404);
    const [invoice] = [...sandbox.rows('invoices')].filter(row => row.customer_id === 2);
    if (!invoice) sandbox.update('invoices', 100, { customer_id: 2 });
    const owned = await request(sandbox, '/api/v2/invoices?customer_id=9223372036854775808');
    expect(owned.text).toContain('"customer_id":9223372036854775808,');
    expect((await request(sandbox, '/api/v2/invoices?customer_id=2')).body.data).toEqual([]);
  });

  test.each([
    ['huge', 9e15],
    ['overflown', 1e300],
    ['negative', -1],
    ['fraction', 150.5],
  ] as const)('count-values=%s', async (values, total) => {
    const sandbox = await openWith({ 'count-values': values });
    expect((await request(sandbox, '/api/v2/customers')).body.meta.total_records).toBe(total);
  });

  test.each([
    ['grouped', '0,150'],
    ['none', undefined],
  ] as const)('total-records=%s', async (form, total) => {
    const sandbox = await openWith({ 'total-records': form });
    const { meta } = (await request(sandbox, '/api/v2/customers?limit=50')).body;
    expect([meta.total_pages, meta.total_records]).toEqual([3, total]);
  });
});

describe('filters', () => {
  test('date-to=exclusive', async () => {
    const sandbox = await openWith({ 'date-to': 'exclusive' });
    const day = [...sandbox.rows('transactions')][700]?.date as string;
    expect((await request(sandbox, `/api/v2/transactions?date_from=${day}&date_to=${day}`)).body.data).toEqual([]);
    const rows = await requestAll(sandbox, `/api/v2/transactions?date_to=${day}`);
    expect(rows.every(row => row.date < day)).toBe(true);
    expect(rows.length).toBeGreaterThan(0);
  });

  test('date-filter=ignored and pair-only', async () => {
    const sandbox = await openWith({ 'date-filter': 'ignored' });
    const total = async (query: string) =>
      (await request(sandbox, `/api/v2/invoices?${query}`)).body.meta.total_records;
    expect(await total('date_from=2025-06-01&date_to=2025-06-30')).toBe(600);
    sandbox.setVariants({ 'date-filter': 'pair-only' });
    expect(await total('date_from=2025-06-01')).toBe(600);
    expect(await total('date_to=2025-06-30')).toBe(600);
    expect(await total('date_from=2025-06-01&date_to=2025-06-30')).toBeLessThan(60);
  });

  test('filters=ignored', async () => {
    const sandbox = await openWith({ filters: 'ignored' });
    expect((await request(sandbox, '/api/v2/invoices?status=Unpaid&customer_id=1')).body.meta.total_records).toBe(600);
    expect((await request(sandbox, '/api/v2/transactions?type=Income&account_id=1')).body.meta.total_records).toBe(
      1500,
    );
  });
});
