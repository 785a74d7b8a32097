import { expect, test } from 'vitest';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { SECOND } from '../../../src/clock.ts';
import { createManualClock, openForTest, request } from '../test-client.ts';

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

test('batch=silent: valid entries are created, and the answer reports none', async () => {
  const sandbox = await openWith({ batch: 'silent' });
  const { status, body } = await request(sandbox, '/api/v2/batch/customers', {
    body: { customers: [{ account: 'One' }, { account: 'Two', email: 'nonsense' }] },
  });
  expect([status, body]).toEqual([201, { success: true, data: { created: 1 } }]);
  expect(sandbox.data.customers.size).toBe(151);
});

test('creates=later: the answer has status 202 and no record, and the records appear 1 to 20 seconds after it', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, variants: { creates: 'later' }, rateLimit: 0 });
  const sent = [
    await request(sandbox, '/api/v2/customers', { body: { account: 'One' } }),
    await request(sandbox, '/api/v2/batch/customers', {
      body: { customers: [{ account: 'Two' }, { account: 'Three' }] },
    }),
  ];
  for (const { status, body } of sent)
    expect([status, body]).toEqual([202, { success: true, data: {}, message: 'Accepted' }]);
  const there = () => [...sandbox.rows('customers')].length;
  clock.advance(SECOND - 1);
  expect(there()).toBe(150);
  clock.advance(19 * SECOND + 1);
  expect(there()).toBe(153);
  expect((await request(sandbox, '/api/v2/customers', { body: {} })).status).toBe(400);
});

test('new-ids=reissued: ids of deleted rows above those that exist are issued again; a replica shows each row at its time', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, variants: { 'new-ids': 'reissued' }, rateLimit: 0 });
  const before = [...sandbox.rows('customers')].slice(-3);
  const like = before[0] as (typeof before)[number];
  for (const { id } of before.slice(1)) sandbox.remove('customers', id);
  clock.advance(30 * SECOND);
  const inserted = ['One', 'Two', 'Three'].map(account => sandbox.insert('customers', { ...like, account }));
  const last = before.at(-1)?.id ?? 0;
  expect(inserted.map(({ id }) => id)).toEqual([before[1]?.id, last, last + 1]);
  expect(sandbox.restore('customers', last)).toBe(false);
  clock.advance(20 * SECOND);
  sandbox.setVariants({ stale: 'replica' });
  const seen = new Set<string>();
  for (let read = 0; read < 60; read += 1) {
    const { body } = await request(sandbox, '/api/v2/customers?limit=1000');
    seen.add(
      body.data
        .filter((row: { id: number }) => row.id > like.id)
        .map((row: { account: string }) => row.account)
        .join(),
    );
  }
  expect(seen).toEqual(
    new Set([
      'Three,Two,One',
      '',
      before
        .slice(1)
        .reverse()
        .map(row => row.account)
        .join(),
    ]),
  );
  sandbox.setVariants({ stale: 'no' });
  expect([...sandbox.rows('customers')].slice(-3)).toEqual(inserted);
});
