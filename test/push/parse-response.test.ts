import { expect, test } from 'vitest';
import { parseBatch, parseCreatedId, parseRefusedEntries } from '../../src/push/parse-response.ts';

test.each([
  [{ data: { id: 7 } }, '7'],
  [{ data: { id: '7' } }, '7'],
  [{ id: 7 }, '7'],
  [{ data: { customer: { id: 7 } } }, '7'],
  [{ data: [] }, null],
  [{ data: { id: 'C-7' } }, null],
  [{ success: true }, null],
])('the id in %j is %s', (body, id) => {
  expect(parseCreatedId(body)).toBe(id);
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
  [
    'records whose fields for errors are empty in some spelling',
    {
      data: [
        { id: 4, error: 'none', errors: { email: null } },
        { id: 5, success: true, error: 'No' },
      ],
    },
    ['4', '5'],
  ],
  ['nothing but empty errors', { data: [{ errors: { email: null } }, { error: 'none' }] }, ['?', '?']],
  ['errors in a list', { data: [{ id: 4 }, { errors: ['taken', 'too long'] }] }, ['4', 'taken; too long']],
  ['an error beside empty errors', { data: [{ id: 4 }, { errors: {}, error: 'taken' }] }, ['4', 'taken']],
  [
    'an error beside what seems to be created',
    {
      data: [
        { id: 4, error: 'cut' },
        { success: true, error: 'cut' },
      ],
    },
    ['?', '?'],
  ],
  ['fewer results than entries', { data: [{ id: 4 }] }, ['?', '?']],
  ['two lists', { data: { created: [{ id: 4 }, { id: 5 }], failed: [] } }, ['?', '?']],
  ['a count', { data: { created: 2 } }, ['?', '?']],
  ['results without id or outcome', { data: [{}, { account: 'B' }] }, ['?', '?']],
  ['numbers only', { data: [4, 5] }, ['?', '?']],
])('results parsed from the answer to a batch of two: %s', (_name, body, expected) => {
  const told = parseBatch(body, 2).map(each =>
    each.kind === 'created' ? each.sourceId : each.kind === 'refused' ? each.message : '?',
  );
  expect(told).toEqual(expected);
});

test('the entries that the field messages of a refused batch name', () => {
  const fields = {
    'customers.0.email': 'taken',
    'customers[2].account': 'empty',
    'customers.2.email': 'taken',
    'customers.9.email': 'x',
    customers: 'too many',
  };
  expect([...parseRefusedEntries(fields, 3)]).toEqual([
    [0, 'email: taken'],
    [2, 'account: empty; email: taken'],
  ]);
  expect(parseRefusedEntries(undefined, 3).size).toBe(0);
});
