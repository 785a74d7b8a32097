import { expect, test } from 'vitest';
import customers from '../../jobs/customers.ts';
import invoices from '../../jobs/invoices.ts';
import { matchRows } from '../../src/push/match-rows.ts';
import { createdId, namedEntries, readBatch } from '../../src/push/parse-response.ts';

test.each([
  [{ data: { id: 7 } }, '7'],
  [{ data: { id: '7' } }, '7'],
  [{ id: 7 }, '7'],
  [{ data: { customer: { id: 7 } } }, '7'],
  [{ data: [] }, null],
  [{ data: { id: 'C-7' } }, null],
  [{ success: true }, null],
])('the id in %j is %s', (body, id) => {
  expect(createdId(body)).toBe(id);
});

test.each([
  [
    'results by index, out of order',
    {
      data: [
        { index: 1, success: false, errors: { email: 'taken' } },
        { index: 0, success: true, data: { id: 4 } },
      ],
    },
    ['4', 'email: taken'],
  ],
  [
    'rows',
    {
      data: [
        { id: 4, account: 'A' },
        { id: 5, account: 'B' },
      ],
    },
    ['4', '5'],
  ],
  ['a list below a name', { data: { customers: [{ id: 4 }, { error: 'taken' }] } }, ['4', 'taken']],
  ['fewer than were sent', { data: [{ id: 4 }] }, ['?', '?']],
  ['two lists', { data: { created: [{ id: 4 }, { id: 5 }], failed: [] } }, ['?', '?']],
  ['a count', { data: { created: 2 } }, ['?', '?']],
  ['results that say nothing', { data: [{}, { account: 'B' }] }, ['?', '?']],
  ['numbers only', { data: [4, 5] }, ['?', '?']],
])('the answer to a batch of two: %s', (_name, body, expected) => {
  const told = readBatch(body, 2, String).map(each =>
    each.kind === 'created' ? each.sourceId : each.kind === 'refused' ? each.message : '?',
  );
  expect(told).toEqual(expected);
});

test('the entries that a refusal names', () => {
  const fields = {
    'customers.0.email': 'taken',
    'customers[2].account': 'empty',
    'customers.2.email': 'taken',
    'customers.9.email': 'x',
    customers: 'too many',
  };
  expect([...namedEntries(fields, 3)]).toEqual([
    [0, 'email: taken'],
    [2, 'account: empty; email: taken'],
  ]);
  expect(namedEntries(undefined, 3).size).toBe(0);
});

const row = (id: number, values: object) => ({ key: String(id), id: String(id), row: { id, ...values } });
const line = (
  id: string,
  body: Record<string, unknown>,
  lastId: string | null = '10',
  sourceId: string | null = null,
) => ({
  id,
  body,
  lastId,
  sourceId,
});

test('a row is given to one line, to none for which it is old, and to none that says otherwise', () => {
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

test('a line whose answer named its id is another than every row that shows one, and may be one that shows none', () => {
  const named = [line('1', { account: 'A' }, '10', '901')];
  expect([...matchRows(customers, named, [row(11, { account: 'A' })])]).toEqual([]);
  const bare = { key: 'k', id: null, row: { account: 'A' } };
  expect([...matchRows(customers, named, [row(11, { account: 'A' }), bare])]).toEqual([['1', 'k']]);
});

test('lists are compared by what each of their elements has, in any order; a field that no row shows is not', () => {
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
