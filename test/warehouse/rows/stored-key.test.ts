import { expect, test } from 'vitest';
import { storedKey, type Table } from '../../../src/warehouse/rows/tables.ts';

const table = { name: 'customers', key: { name: 'id', type: 'bigint' } } as Table;

test('a person may name every id of 64 bits, and no other', () => {
  for (const id of ['0', '17', '-3', '9223372036854775807', '-9223372036854775808'])
    expect(storedKey(table, id)).toBe(id);
  for (const id of ['9223372036854775808', '-9223372036854775809', '12345678901234567890', '1.5', '', 'x'])
    expect(() => storedKey(table, id)).toThrow('is not a key of customers');
});

test('a key that is a text may be any that Postgres can store', () => {
  const codes = { ...table, key: { name: 'code', type: 'text' } } as Table;
  for (const code of ['', 'x', 'A-17 ü']) expect(storedKey(codes, code)).toBe(code);
  expect(() => storedKey(codes, 'a\0b')).toThrow('is not a key of customers');
});
