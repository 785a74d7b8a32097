import { describe, expect, test } from 'vitest';
import { createData, sizes } from '../../../sandbox/data/data.ts';
import type { SandboxOptions } from '../../../sandbox/sandbox.ts';
import { openForTest, request, TODAY } from '../test-client.ts';

const resources = [
  'customers',
  'invoices',
  'transactions',
  'products',
  'quotes',
  'tickets',
  'users',
  'orders',
  'suppliers',
  'purchases',
] as const;

async function textOf(options: SandboxOptions): Promise<string> {
  const sandbox = await openForTest(options);
  return JSON.stringify(resources.map(resource => [...sandbox.rows(resource)]));
}

describe('the seed', () => {
  test('the same seed, size and day give the same data, byte for byte', async () => {
    expect(await textOf({ seed: 7 })).toBe(await textOf({ seed: 7 }));
    expect(await textOf({ seed: 7 })).not.toBe(await textOf({ seed: 8 }));
    expect(await textOf({ seed: 7 })).not.toBe(await textOf({ seed: 7, today: '2026-01-16' }));
  });

  test('the same requests give the same responses, byte for byte', async () => {
    const [one, two] = [await openForTest({ seed: 3 }), await openForTest({ seed: 3 })];
    for (const path of [
      '/api/v2/customers',
      '/api/v2/invoices?status=Unpaid',
      '/api/v2/transactions?page=4&limit=50',
    ]) {
      expect((await request(one, path)).text).toBe((await request(two, path)).text);
    }
  });
});

describe('the rows', () => {
  test('every row has all documented fields', async () => {
    const sandbox = await openForTest();
    const fields = (resource: 'customers' | 'invoices' | 'transactions') => [
      ...new Set([...sandbox.rows(resource)].map(row => Object.keys(row).sort().join())),
    ];
    expect(fields('customers')).toEqual([
      'account,address,city,country,created_at,email,id,phone,state,updated_at,zip',
    ]);
    expect(fields('invoices')).toEqual(['amount,customer_id,date,due_date,id,invoice_number,items,notes,status']);
    expect(fields('transactions')).toEqual(['account_id,amount,category_id,date,description,id,type']);
  });

  test('ids ascend with gaps; dates cover six years, mostly recent ones', async () => {
    const sandbox = await openForTest({ size: 'medium' });
    const rows = [...sandbox.rows('transactions')];
    expect(rows).toHaveLength(25_000);
    expect(rows.every((row, index) => index === 0 || row.id > (rows[index - 1]?.id as number))).toBe(true);
    expect(rows.at(-1)?.id).toBeGreaterThan(25_500);
    const inYear = (year: string) => rows.filter(row => row.date?.startsWith(year)).length;
    expect(inYear('2025')).toBeGreaterThan(2 * inYear('2020'));
    expect(inYear('2020')).toBeGreaterThan(500);
  });

  test('a tenth of the invoices of a small source are open, mostly recent ones', async () => {
    const open = (await openForTest()).data.invoices;
    const rows = [...open.rows()].filter(row => row.status !== 'Paid');
    expect(rows.length / 600).toBeGreaterThan(0.06);
    expect(rows.length / 600).toBeLessThan(0.14);
    expect(rows.filter(row => (row.date ?? '') > '2025-01-15').length / rows.length).toBeGreaterThan(0.6);
  });

  test('unusual but legal values occur', async () => {
    const sandbox = await openForTest({ size: 'medium' });
    const customers = [...sandbox.rows('customers')];
    const ids = new Set(customers.map(row => row.id));
    const invoices = [...sandbox.rows('invoices')];
    const transactions = [...sandbox.rows('transactions')];
    expect(customers.some(row => row.phone === null) && customers.some(row => row.phone === '')).toBe(true);
    expect(invoices.some(row => !ids.has(row.customer_id))).toBe(true);
    expect(invoices.some(row => /\.\d{8}$/.test(String(row.amount)))).toBe(true);
    expect(invoices.some(row => row.items.length > 40)).toBe(true);
    expect(Math.max(...invoices.map(row => row.items.length))).toBeLessThanOrEqual(60);
    expect(invoices.some(row => (row.date ?? '') > TODAY)).toBe(true);
    expect(invoices.some(row => row.notes?.includes('\n')) && invoices.some(row => row.notes?.includes('📎'))).toBe(
      true,
    );
    expect(transactions.some(row => row.type === 'Expense' && Number(row.amount) < 0)).toBe(true);
    const contents = transactions.map(row => JSON.stringify({ ...row, id: 0 }));
    expect(new Set(contents).size).toBeLessThan(contents.length);
  });
});

describe('size', () => {
  test('rows are generated on demand: opening a million takes no time', async () => {
    const options = {
      seed: 1,
      counts: sizes.extreme,
      today: TODAY,
      moreStates: false,
      undated: false,
      beyondDouble: false,
      farDates: false,
    };
    const data = createData(options);
    expect([data.customers.size, data.invoices.size, data.transactions.size]).toEqual([200_000, 200_000, 1_000_000]);
    const day = data.transactions.at(500_000).date as string;
    const days = [...data.transactions.rows()].filter(row => row.date === day).map(row => row.id);
    const found = data.transactions.select({
      fromDay: Date.parse(day) / 86_400_000,
      toDay: Date.parse(day) / 86_400_000,
    });
    expect([...found].map(position => data.transactions.at(position).id)).toEqual(days);
    expect(data.transactions.get(days[3] as number)).toEqual(data.transactions.at(found[3] as number));
    expect(
      data.invoices.select({ state: 'Unpaid' }).length + data.invoices.select({ state: 'Partially Paid' }).length,
    ).toBeLessThan(8_000);
  });

  test('a size can be given as row counts', async () => {
    const sandbox = await openForTest({ size: { customers: 3, invoices: 5, transactions: 7 } });
    expect([sandbox.data.customers.size, sandbox.data.invoices.size, sandbox.data.transactions.size]).toEqual([
      3, 5, 7,
    ]);
  });
});
