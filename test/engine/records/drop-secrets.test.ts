import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineJob, integer, list, text, wholeRow } from '../../../src/engine/job.ts';
import { createRecordParser } from '../../../src/engine/records/parse-record.ts';

const readAt = '2026-01-15 10:00:00+00';
const job = defineJob({
  path: '/api/v2/parcels',
  key: 'id',
  record: z.object({
    id: integer(),
    name: text(),
    token: text(),
    parts: list(z.object({ label: text(), pin: text() })),
  }),
  children: { parts: { table: 'parcel_parts', parent: 'parcel_id' } },
  slicings: [],
  never: ['internalNote'],
});
const opaque = defineJob({
  path: '/api/v2/boxes',
  key: 'id',
  record: z.object({ id: integer(), record: wholeRow() }),
  slicings: [],
  never: ['internalNote'],
});
const parser = (of = job, never: readonly string[] = []) =>
  createRecordParser(
    { ...of, masks: Object.fromEntries(never.map(name => [name, { rule: 'never' }] as const)) },
    { hashed: true, contentKeyed: true },
  );
const parse = (raw: unknown, of = job) => parser(of)(raw, readAt);

/** Spellings in every place where a record can hold a field. */
const hostile = (mark: string) => ({
  id: 7,
  name: `{"a":1,"apiKey":"${mark}"}`,
  Password: mark,
  internal_note: mark,
  settings: `  [{"smtp":{"smtp-pass":"${mark}"}}]`,
  profile: { PassWord_Hash: mark, deep: [[{ rememberToken: { value: mark } }]] },
  parts: [
    { label: 'a', card_number: mark },
    { label: 'b', CVV: mark },
  ],
});

test.each([
  ['a row', (row: object) => parse(row)],
  [
    'child rows written as an object',
    (row: object) => parse({ ...row, parts: { 0: { label: 'a', secret: 'planted' } } }),
  ],
  ['a row kept whole', (row: object) => parse(row, opaque)],
  ['a row without id', (row: object) => parse({ ...row, id: null })],
  ['a row in a list', (row: object) => parse([[row]])],
  ['a row as text', (row: object) => parse(JSON.stringify(row))],
  ['a row of wrong types', (row: object) => parse({ ...row, id: { secret: 'planted' }, name: [row] })],
  ['a row that nests deeper than can be stored', (row: object) => parse({ ...row, deep: nested(100, row) })],
])('%s: no password, key or token is kept, whatever its spelling and place', (_name, stored) => {
  expect(JSON.stringify(stored(hostile('planted')))).not.toContain('planted');
});

const nested = (levels: number, inner: unknown): unknown => (levels === 0 ? inner : { x: nested(levels - 1, inner) });

test('fields that the job declares are stored, whatever their names, but not elsewhere', () => {
  const parsed = parse({ id: 1, token: 'A-17', parts: [{ label: 'a', pin: 'round' }], other: { token: 'planted' } });
  expect(parsed).toMatchObject({
    row: {
      values: { token: 'A-17' },
      children: { parts: [{ values: { label: 'a', pin: 'round' } }] },
      extra: '{"other":{}}',
    },
  });
  expect(parse({ id: 1, parts: { 0: { label: 'a', pin: 'round' } } })).toMatchObject({
    row: { children: { parts: [{ values: { pin: 'round' } }] } },
  });
});

test('a setting names more fields, in any spelling and at any depth', () => {
  const parsed = parser(job, ['date-of-birth'])(
    { id: 1, DateOfBirth: 'x', more: [{ date_of_birth: 'y', z: 1 }] },
    readAt,
  );
  expect(parsed).toMatchObject({ row: { extra: '{"more":[{"z":1}]}' } });
});

test('a record without such fields keeps its content key and its hash', () => {
  const row = { name: 'A', colour: 'red', tags: ['x', { y: '{"z": 1}' }], note: '{"not": json' };
  expect(parse(row)).toEqual(parse({ ...row, password: 'x', tags: ['x', { y: '{"z": 1}', apiKey: 1 }] }));
  // SHA-256 of [["name","A"]].
  expect(parse(row)).toMatchObject({ row: { key: '#48b64ac391d5dd2610615f24be18b97c' } });
});

test('names that are data do not fill the memory, and do not change the verdict', () => {
  const of = parser();
  for (let from = 0; from < 50_000; from += 1000)
    of({ id: 1, days: Object.fromEntries(Array.from({ length: 1000 }, (_, day) => [`day ${from + day}`, 1])) }, readAt);
  expect(of({ id: 1, password: 'x', a: 1 }, readAt)).toMatchObject({ row: { extra: '{"a":1}' } });
});

test('a field named __proto__ survives beside a dropped one', () => {
  const raw = JSON.parse('{"id":1,"password":"x","__proto__":{"admin":true,"password":"x"}}') as unknown;
  expect(parse(raw)).toMatchObject({ row: { extra: '{"__proto__":{"admin":true}}' } });
});
