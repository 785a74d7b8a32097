import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { queryTable } from '../../src/cli/output/query-formats.ts';
import type { Terminal } from '../../src/cli/session/terminal.ts';
import { csv } from '../../src/service/query/csv.ts';

const TEXT_OID = 25;
const columns = ['one', 'two'].map(name => ({ name, oid: TEXT_OID }));

test('CSV keeps NULL and the empty string apart, quotes what needs it, and ends every line with CRLF', () => {
  const { write, end } = csv();
  const rows = [
    [null, ''],
    ['a "b"', 'c,d'],
    ['line\nfeed', 'carriage\rreturn'],
    [' blank ', '=1+1'],
  ];
  expect(write(columns, rows) + end()).toBe(
    'one,two\r\n,""\r\n"a ""b""","c,d"\r\n"line\nfeed","carriage\rreturn"\r\n blank ,=1+1\r\n',
  );
});

test('a CSV reader gets back every value that is written, in batches of any size, under one header', () => {
  const unit = fc.constantFrom('a', 'ü', '"', ',', ';', '\r', '\n', ' ', '\t', '\ufeff', '💡');
  const cell = fc.option(fc.string({ unit, maxLength: 4 }));
  const batches = fc.array(fc.array(fc.tuple(cell, cell), { maxLength: 3 }), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(batches, written => {
      const { write } = csv();
      const text = written.map(batch => write(columns, batch)).join('');
      const cast = (value: string, { quoting }: { quoting: boolean }) => (value === '' && !quoting ? null : value);
      expect(parse(text, { cast, record_delimiter: '\r\n' })).toEqual([['one', 'two'], ...written.flat()]);
    }),
  );
});

test('a table aligns wide characters and combining marks by their width on screen, and fits the terminal', () => {
  const plain = { bold: String, dim: String };
  const draw = (rows: string[][], width = 100) => {
    const { write, end } = queryTable({ colors: plain, width } as unknown as Terminal);
    return write(columns, rows) + end();
  };
  const rows = [
    ['漢字', 'x'],
    ['e\u0301t\u00e9', 'x'],
    ['plain', 'x'],
  ];
  expect(draw(rows)).toBe('one    two\n漢字   x\ne\u0301té    x\nplain  x\n(3 rows)\n');
  const long = draw([['漢'.repeat(80), 'x'.repeat(80)]], 60);
  expect(long).toContain('…');
  expect(long).toContain('--format csv');
  for (const line of long.split('\n').slice(0, 2)) expect(line.length).toBeLessThanOrEqual(60);
});
