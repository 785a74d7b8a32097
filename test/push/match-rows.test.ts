import { expect, test } from 'vitest';
import customers from '../../jobs/customers.ts';
import invoices from '../../jobs/invoices.ts';
import { matchRows } from '../../src/push/match-rows.ts';

const row = (id: number, values: object) => ({
  key: String(id),
  id: String(id),
  storedAt: '2026-01-15 10:00:00+00',
  row: { id, ...values },
});
const line = (
  id: string,
  body: Record<string, unknown>,
  lastId: string | null = '10',
  sourceId: string | null = null,
) => ({
  id,
  body,
  lastId,
  lastAt: '2026-01-15 09:00:00+00',
  sourceId,
});

test('a row is matched to one line, never to a line sent after it was stored, nor to one with other values', () => {
  const rows = [
    row(9, { account: 'A' }),
    row(11, { account: ' a', email: 'A@X.io' }),
    row(12, { account: 'A', email: 'a@x.io' }),
    row(13, { account: 'B', email: null }),
  ];
  const a = { account: 'A', email: 'a@x.io' };
  const found = matchRows(
    customers,
    [
      line('1', a),
      line('2', a),
      line('3', a),
      line('4', { account: 'B', email: 'b@x.io' }),
      line('5', { account: 'B' }, '13'),
    ],
    rows,
  );
  expect([...found]).toEqual([
    ['1', '11'],
    ['2', '12'],
  ]);
});

test('a line whose answer named an id matches no row that shows an id, and may match one that shows none', () => {
  const named = [line('1', { account: 'A' }, '10', '901')];
  expect([...matchRows(customers, named, [row(11, { account: 'A' })])]).toEqual([]);
  const bare = { ...row(11, {}), key: 'k', id: null, row: { account: 'A' } };
  expect([...matchRows(customers, named, [row(11, { account: 'A' }), bare])]).toEqual([['1', 'k']]);
});

test('lists are compared in any order, by the keys that all elements have; a field that no row shows is not compared', () => {
  const items = [
    { description: 'X', amount: 10.1, qty: 2 },
    { description: 'Y', amount: 5 },
  ];
  const shown = [
    { description: 'Y', amount: 5, qty: 1, line: 1 },
    { description: 'X', amount: 10.1, qty: 2, line: 2 },
  ];
  const rows = [
    row(11, { customer_id: 7, date: null, items: shown.slice(1) }),
    row(12, { customer_id: 7, date: null, items: shown }),
  ];
  expect([...matchRows(invoices, [line('1', { customer_id: 7, date: '2026-01-15', items })], rows)]).toEqual([
    ['1', '12'],
  ]);
});

test('an id that was stored before is new if its row has changed since and no row above it was kept', () => {
  const rows = [row(9, { account: 'A' }), { ...row(10, { account: 'A' }), storedAt: '2026-01-15 08:00:00+00' }];
  const matched = (keptId: string | null) => [
    ...matchRows(customers, [{ ...line('1', { account: 'A' }), keptId }], rows),
  ];
  expect(matched('10')).toEqual([]);
  expect(matched('9')).toEqual([]);
  expect(matched('8')).toEqual([['1', '9']]);
  expect(matched(null)).toEqual([['1', '9']]);
});
