import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listFileSchema, readListFiles } from '../../src/config/list-files.ts';

const CONTRACTS = {
  path: '/api/v2/contracts',
  fields: { id: 'integer', title: 'text', signed_on: 'date', changed_at: 'timestamp' },
};

/** What is read from a folder with these files; `products` is known. */
function read(files: Readonly<Record<string, unknown>>) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-lists-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'lists'));
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, 'lists', name), typeof content === 'string' ? content : JSON.stringify(content));
  return readListFiles(folder, name => name === 'products');
}

function problems(files: Readonly<Record<string, unknown>>): string {
  try {
    read(files);
  } catch (error) {
    return (error as Error).message;
  }
  return 'none';
}

test('a file declares a list, and what it leaves out has a default', () => {
  expect(read({ 'contracts.json': { $schema: '../dist/list.schema.json', ...CONTRACTS }, 'notes.txt': 'x' })).toEqual([
    {
      name: 'contracts',
      file: 'lists/contracts.json',
      declares: 'list',
      list: {
        path: '/api/v2/contracts',
        description: '',
        schedule: '*/15 * * * *',
        key: 'id',
        withoutKey: 'content',
        fields: {
          id: { type: 'integer', description: '' },
          title: { type: 'text', description: '' },
          signed_on: { type: 'date', description: '' },
          changed_at: { type: 'timestamp', description: '' },
        },
        children: {},
        slicings: [{ by: 'id' }],
        updatedAt: null,
        never: [],
        events: {},
        history: false,
        rewriteShares: {},
      },
    },
  ]);
});

test('a file may add fields to a list that Sluice knows', () => {
  expect(read({ 'products.json': { fields: { project: { type: 'text', description: 'Project.' } } } })).toEqual([
    {
      ...{ name: 'products', file: 'lists/products.json', declares: 'fields' },
      more: { fields: { project: { type: 'text', description: 'Project.' } }, children: {} },
    },
  ]);
});

test('without the folder there is nothing to read', () => {
  expect(readListFiles(tmpdir(), () => false)).toEqual([]);
});

const WRONG: readonly [content: unknown, says: string][] = [
  ['{', 'lists/contracts.json is not valid JSON'],
  ['[]', 'lists/contracts.json is not an object'],
  [{ fields: CONTRACTS.fields }, 'lacks path; expected'],
  [{ ...CONTRACTS, path: '//evil.example/x' }, 'has path //evil.example/x; expected a path such as /api/v2/contracts'],
  [{ ...CONTRACTS, path: 'https://evil.example/' }, 'expected a path'],
  [{ ...CONTRACTS, colour: 1 }, 'has an unknown field "colour"'],
  [{ ...CONTRACTS, slicing: [] }, 'has an unknown field "slicing" (did you mean "slicings"?)'],
  [{ ...CONTRACTS, fields: { id: 'integer', amount: 'money' } }, 'has fields.amount money; expected a type (text, '],
  [{ ...CONTRACTS, fields: { id: 'integer', Amount: 'text' } }, 'names "fields.Amount"; expected a name of a-z'],
  [{ ...CONTRACTS, fields: { id: 'integer', _key: 'text' } }, 'names "fields._key"'],
  [{ ...CONTRACTS, fields: { name: 'text' } }, 'names the unknown field "id" in key'],
  [{ ...CONTRACTS, fields: { id: 'text' } }, 'names "id" in key, which is of type text; expected integer'],
  [{ ...CONTRACTS, key: 'title', slicings: [] }, 'none'],
  [{ ...CONTRACTS, key: 'signed_on', slicings: [] }, 'which is of type date; expected integer or text'],
  [
    { ...CONTRACTS, updatedAt: 'signed_on' },
    'names "signed_on" in updatedAt, which is of type date; expected timestamp',
  ],
  [{ ...CONTRACTS, slicings: [{ by: 'date', field: 'title', from: 'a', to: 'b' }] }, 'names "title" in slicings'],
  [{ ...CONTRACTS, slicings: [{ by: 'date', field: 'signed_on', from: 'a', to: 'a' }] }, 'from and to are equal'],
  [{ ...CONTRACTS, slicings: [{ by: 'month' }] }, 'by is one of id, date, value, one'],
  [{ ...CONTRACTS, slicings: [{ by: 'id' }, { by: 'id' }] }, 'two slicings of the same kind'],
  [{ ...CONTRACTS, slicings: [{ by: 'value', field: 'titel' }] }, '(did you mean "title"?)'],
  [
    { ...CONTRACTS, slicings: [{ by: 'one', path: '/api/v2/contracts' }] },
    'expected a path such as /api/v2/contracts/{key}',
  ],
  [{ ...CONTRACTS, path: '/../other/api' }, 'has path /../other/api; expected a path'],
  [{ ...CONTRACTS, fields: { ...CONTRACTS.fields, valid_from: 'date' } }, 'none of valid_from'],
  [{ ...CONTRACTS, fields: { ...CONTRACTS.fields, constructor: 'text' } }, 'names "fields.constructor"'],
  [{ ...CONTRACTS, fields: { id: 'integer', whole: 'row' } }, 'none'],
  [{ ...CONTRACTS, fields: { id: 'integer', whole: 'row', status: 'text' } }, 'has a field of type row beside others'],
  [
    { ...CONTRACTS, children: { lines: { table: 'lines', parent: 'line', fields: {} } } },
    'names the parent "line" for "lines"',
  ],
  [{ ...CONTRACTS, schedule: 'often' }, 'has schedule often; expected a cron expression'],
  [{ ...CONTRACTS, history: 'on' }, 'has history on; expected true or false'],
  [{ ...CONTRACTS, never: ['title'] }, 'declares "title" and names it in never'],
  // Every object of JavaScript has one.
  [{ ...CONTRACTS, never: ['constructor'] }, 'none'],
  [{ ...CONTRACTS, key: 'constructor' }, 'names the unknown field "constructor" in key'],
  [{ ...CONTRACTS, rewriteShares: { toString: 0.5 } }, 'names the unknown field "toString" in rewriteShares'],
  [{ ...CONTRACTS, rewriteShares: { titel: 0.5 } }, 'names the unknown field "titel" in rewriteShares'],
  [{ ...CONTRACTS, rewriteShares: { title: 2 } }, 'expected at most 1'],
  [
    { ...CONTRACTS, children: { lines: { table: 'Lines', parent: 'contract_id', fields: {} } } },
    'has children.lines.table Lines',
  ],
  [
    { ...CONTRACTS, children: { lines: { table: 'contracts', parent: 'contract_id', fields: {} } } },
    'names its own table',
  ],
  [
    { ...CONTRACTS, children: { lines: { table: 'lines', parent: 'contract_id', fields: { line: 'integer' } } } },
    `declares "line" for "lines", which is a column of Sluice's own there`,
  ],
];

test.each(WRONG)('%j', (content, says) => {
  expect(problems({ 'contracts.json': content })).toContain(says);
});

test('every problem of every file is named at once', () => {
  const message = problems({
    'contracts.json': { ...CONTRACTS, history: 1 },
    'products.json': { path: '/x', fields: { project: 'txt' } },
    'My list.json': {},
  });
  expect(message).toContain('lists/contracts.json has history 1; expected true or false.');
  expect(message).toContain('lists/products.json declares products, which Sluice knows: it may only add fields to it.');
  expect(message).toContain('lists/products.json has fields.project txt;');
  expect(message).toContain('lists/My list.json is not named after a list;');
});

test.skipIf(process.platform === 'win32')('a file that others may write is not used', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-lists-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'lists'));
  const file = join(folder, 'lists/contracts.json');
  writeFileSync(file, JSON.stringify(CONTRACTS));
  chmodSync(file, 0o666);
  expect(() => readListFiles(folder, () => false)).toThrow(/may be written by other users/);
});

test('the schema for editors names every field that a file may have', () => {
  const schema = JSON.stringify(listFileSchema());
  for (const field of ['path', 'slicings', 'withoutKey', 'rewriteShares', 'children'])
    expect(schema).toContain(`"${field}"`);
});
