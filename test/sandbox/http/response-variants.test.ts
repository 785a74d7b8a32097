import { expect, test } from 'vitest';
import type { Variants } from '../../../src/sandbox/variants/variants.ts';
import { openForTest, request } from '../test-client.ts';

const openWith = (variants: Partial<Variants>) => openForTest({ variants, rateLimit: 0 });

test('validation and auth-error set the status of these errors', async () => {
  const sandbox = await openWith({ validation: '422', 'auth-error': '403' });
  expect((await request(sandbox, '/api/v2/customers', { body: {} })).status).toBe(422);
  expect((await request(sandbox, '/api/v2/customers', { key: 'other' })).status).toBe(403);
  sandbox.setVariants({ validation: '200', 'auth-error': '200' });
  const refused = await request(sandbox, '/api/v2/invoices?date_from=yesterday');
  expect([refused.status, refused.body]).toMatchObject([200, { success: false, message: 'Validation failed' }]);
  const unknown = await request(sandbox, '/api/v2/customers', { key: 'other' });
  expect([unknown.status, unknown.body.success]).toEqual([200, false]);
});

test('other-lists and report=absent: lists and the report may be missing', async () => {
  const sandbox = await openWith({ 'other-lists': '405', report: 'absent' });
  expect((await request(sandbox, '/api/v2/orders')).status).toBe(405);
  expect((await request(sandbox, '/api/v2/reports/financial')).status).toBe(404);
  sandbox.setVariants({ 'other-lists': '404' });
  expect((await request(sandbox, '/api/v2/suppliers')).status).toBe(404);
});

test('report=other-rules gives different sums', async () => {
  const sandbox = await openForTest({ size: 'medium' });
  const path = '/api/v2/reports/financial?year=2025';
  const usual = (await request(sandbox, path)).body.data;
  sandbox.setVariants({ report: 'other-rules' });
  const other = (await request(sandbox, path)).body.data;
  expect(other.income).toBeLessThan(usual.income);
  expect(other.expenses).toBeGreaterThan(usual.expenses);
});

test('batch=all: one invalid entry rejects the whole batch', async () => {
  const sandbox = await openWith({ batch: 'all' });
  const { status, body } = await request(sandbox, '/api/v2/batch/customers', {
    body: { customers: [{ account: 'One' }, { account: 'Two', email: 'nonsense' }] },
  });
  expect(status).toBe(400);
  expect(body.errors).toEqual({ 'customers.1.email': 'Invalid email format' });
  expect(sandbox.data.customers.size).toBe(150);
});
