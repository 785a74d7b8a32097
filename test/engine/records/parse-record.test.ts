import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { date, decimal, defineJob, integer, list, text, timestamp } from '../../../src/engine/job.ts';
import { createRecordParser } from '../../../src/engine/records/parse-record.ts';
import { isSecretName } from '../../../src/engine/records/secret-names.ts';
import { isObject } from '../../../src/source/answers/json.ts';

const job = defineJob({
  path: '/api/v2/parcels',
  key: 'id',
  record: z.object({
    id: integer(),
    name: text(),
    price: decimal(),
    sent: date(),
    seen_at: timestamp(),
    parts: list(z.object({ label: text(), weight: decimal() })),
  }),
  children: { parts: { table: 'parcel_parts', parent: 'parcel_id' } },
  slicings: [],
  never: ['password'],
});
const readAt = '2026-01-15 10:00:00+00';
const parser = createRecordParser(job, { hashed: true, contentKeyed: false });
const parse = (raw: unknown) => parser(raw, readAt);

function rowOf(raw: unknown) {
  const parsed = parse(raw);
  if ('bad' in parsed) throw new Error(JSON.stringify(parsed.bad));
  return parsed.row;
}
function badOf(raw: unknown) {
  const parsed = parse(raw);
  if ('row' in parsed) throw new Error(`${parsed.row.key} was taken`);
  return parsed.bad;
}

const nameless = fc.string().filter(name => !(name in job.record.shape) && !isSecretName(name) && !name.includes('\0'));
const json = fc
  .jsonValue()
  .map(
    value =>
      JSON.parse(JSON.stringify(value), (_name, item: unknown) =>
        isObject(item) ? Object.fromEntries(Object.entries(item).filter(([name]) => !isSecretName(name))) : item,
      ) as unknown,
  );

test('a child list may arrive as an object whose names are positions, with gaps or without', () => {
  const parts = fc.array(
    fc.record({ label: fc.string().filter(label => !label.includes('\0')), colour: fc.string() }),
    {
      minLength: 1,
    },
  );
  fc.assert(
    fc.property(parts, fc.integer({ min: 1, max: 3 }), (items, step) => {
      const written = items.map(({ label, colour }) => ({ label, colour: colour.replaceAll('\0', '') }));
      const keyed = Object.fromEntries(written.map((item, index) => [index * step, item]));
      expect(rowOf({ id: 1, parts: keyed }).children).toEqual(rowOf({ id: 1, parts: written }).children);
    }),
  );
  expect(badOf({ id: 1, parts: { label: 'x' } }).reasons).toHaveProperty('parts');
});

test('all unknown fields are kept, and no others', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.oneof(nameless, fc.constant('__proto__')), json), unknown => {
      const raw = JSON.parse(JSON.stringify({ ...unknown, id: 7, name: 'x', password: 'secret' })) as unknown;
      const { extra, values } = rowOf(raw);
      expect(values).toEqual({ id: '7', name: 'x' });
      if (Object.keys(unknown).length === 0) expect(extra).toBeNull();
      else expect(JSON.parse(extra as string)).toEqual(JSON.parse(JSON.stringify({ ...unknown })));
    }),
  );
});

test('a field named __proto__ is treated like any other', () => {
  const raw = JSON.parse('{"id":1,"__proto__":{"admin":true}}') as unknown;
  expect(rowOf(raw).extra).toBe('{"__proto__":{"admin":true}}');
});

test('an absent field stays absent, and null stays null', () => {
  expect(rowOf({ id: 1 }).values).toEqual({ id: '1' });
  expect(rowOf({ id: 1, name: null, price: null, sent: '', seen_at: '0000-00-00 00:00:00' }).values).toEqual({
    id: '1',
    name: null,
    price: null,
    sent: null,
    seen_at: null,
  });
  expect(rowOf({ id: 1 }).children).toEqual({});
  expect(rowOf({ id: 1, parts: null }).children).toEqual({ parts: [] });
});

test('child rows are parsed like their parents, including unknown fields', () => {
  const { children, extra } = rowOf({ id: 1, parts: [{ label: 'a', weight: '1.50', colour: 'red' }, {}] });
  expect(children.parts).toEqual([
    { values: { label: 'a', weight: '1.5' }, extra: '{"colour":"red"}' },
    { values: {}, extra: null },
  ]);
  expect(extra).toBeNull();
});

test('different records have different hashes; equal records written differently have the same', () => {
  const hash = (raw: unknown) => rowOf(raw).hash;
  const base = { id: 1, price: '1.5', parts: [{ label: 'a', weight: 2 }], other: { a: 1 } };
  expect(hash({ ...base, id: '1', price: 1.5, parts: [{ label: 'a', weight: '2.00' }] })).toBe(hash(base));
  expect(hash({ ...base, password: 'new' })).toBe(hash(base));
  for (const other of [
    { ...base, price: '1.51' },
    { ...base, name: null },
    { ...base, parts: [] },
    { ...base, parts: [{ label: 'a', weight: 2, colour: 'red' }] },
    { ...base, other: { a: 2 } },
  ])
    expect(hash(other)).not.toBe(hash(base));
});

test('a change of the declared columns changes the hash of a record', () => {
  const wider = defineJob({ ...job, record: job.record.extend({ colour: text() }) });
  const parsed = createRecordParser(wider, { hashed: true, contentKeyed: false })({ id: 1 }, readAt);
  expect('row' in parsed && parsed.row.hash).not.toBe(rowOf({ id: 1 }).hash);
});

test('a bad record is quarantined whole, by its key and with the reasons', () => {
  const bad = badOf({ id: 7, price: '1,50', sent: '15/01/2026', parts: [{ weight: 'heavy' }], note: 'kept' });
  expect(bad.key).toBe('7');
  expect(JSON.parse(bad.payload)).toEqual({
    id: 7,
    price: '1,50',
    sent: '15/01/2026',
    parts: [{ weight: 'heavy' }],
    note: 'kept',
  });
  expect(Object.keys(bad.reasons).sort()).toEqual(['parts.0.weight', 'price', 'sent']);
});

test('a record with an unreadable key gets a key derived from its content', () => {
  for (const raw of [
    { name: 'x' },
    { id: null },
    { id: '' },
    { id: 'seven' },
    { id: 1.5 },
    null,
    'text',
    17,
    [1],
    true,
  ]) {
    const bad = badOf(raw);
    expect(bad.key).toMatch(/^\?[0-9a-f]{32}$/);
    expect(JSON.parse(bad.payload)).toEqual(raw);
    expect(badOf(raw).key).toBe(bad.key);
  }
  expect(badOf({ name: 'x' }).key).not.toBe(badOf({ name: 'y' }).key);
});

test('a field that is never stored appears nowhere: not in the row, not in quarantine, not in a key', () => {
  fc.assert(
    fc.property(fc.oneof(fc.constant(3), fc.constant('oops')), fc.string({ minLength: 12 }), (id, secret) => {
      const text = JSON.stringify(parse({ id, name: 'x', password: `pw-${secret}` }));
      expect(text).not.toContain('pw-');
      expect(text).not.toContain('password');
    }),
  );
  expect(badOf({ id: 'oops', password: 'a' }).key).toBe(badOf({ id: 'oops', password: 'b' }).key);
});

test('any input becomes a row or a bad record, never an exception', () => {
  const fields = fc.record(
    { id: json, name: json, price: json, sent: json, seen_at: json, parts: json, password: json, other: json },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(json, fields), raw => {
      const parsed = parse(raw);
      if ('row' in parsed) expect(parsed.row.key).toMatch(/^-?\d+$/);
      else expect(Object.keys(parsed.bad.reasons).length).toBeGreaterThan(0);
    }),
    { numRuns: 1000 },
  );
});

test('in a table keyed by content, a row without a key is keyed by its declared fields, however they are written', () => {
  const parseKeyless = createRecordParser(job, { hashed: true, contentKeyed: true });
  const keyOf = (raw: Record<string, unknown>) => {
    const parsed = parseKeyless(raw, readAt);
    return 'row' in parsed ? parsed.row.key : undefined;
  };
  const key = keyOf({ name: 'x', price: '1.50', sent: '2026-01-15' });
  expect(key).toMatch(/^#[0-9a-f]{32}$/);
  expect(keyOf({ sent: '2026-01-15 00:00:00', price: 1.5, name: 'x', colour: 'red', password: 'p' })).toBe(key);
  expect(keyOf({ name: 'x', price: '1.51', sent: '2026-01-15' })).not.toBe(key);
  expect(keyOf({ name: 'x', price: null, sent: '2026-01-15' })).not.toBe(key);
  expect(keyOf({ id: 7, name: 'x', price: '1.50', sent: '2026-01-15' })).toBe('7');
});

test('a field that a file adds gives no row another key; all fields of a list of a file count', () => {
  const keyOf = (fields: readonly string[]) => {
    const keyless = createRecordParser({ ...job, tolerated: fields }, { hashed: true, contentKeyed: true });
    const parsed = keyless({ name: 'x', price: '1.50', sent: '2026-01-15', seen_at: null }, readAt);
    return 'row' in parsed ? parsed.row.key : undefined;
  };
  const { price: _, ...fewer } = job.record.shape;
  const before = createRecordParser({ ...job, record: z.object(fewer) }, { hashed: true, contentKeyed: true });
  const parsed = before({ name: 'x', price: '1.50', sent: '2026-01-15', seen_at: null }, readAt);
  expect(parsed).toMatchObject({ row: { key: keyOf(['price', 'parts.weight']) } });
  expect(keyOf(['price', 'name', 'sent', 'seen_at'])).toBe(keyOf([]));
});

test('where a tolerated value does not fit, it stays in _extra, and its row is stored', () => {
  const fields = ['price', 'parts.weight'];
  const tolerant = createRecordParser({ ...job, tolerated: fields }, { hashed: true, contentKeyed: false });
  const unknown = new Set<string>();
  const parsed = tolerant(
    { id: 1, price: 'free', colour: 'red', parts: [{ label: 'A', weight: 'much' }, { weight: 2 }] },
    readAt,
    new Set(['price', 'name']),
    unknown,
  );
  expect(parsed).toMatchObject({
    row: {
      key: '1',
      values: { id: '1', price: null, name: null },
      extra: '{"price":"free","colour":"red"}',
      children: {
        parts: [
          { values: { label: 'A' }, extra: '{"weight":"much"}' },
          { values: { weight: '2' }, extra: null },
        ],
      },
    },
  });
  // It is not reported as a field that nobody knows.
  expect([...unknown]).toEqual(['colour']);
  expect(tolerant({ id: 1, price: 'free', sent: 'soon' }, readAt)).toHaveProperty('bad.reasons.sent');
  expect(tolerant({ id: 'x', price: 'free' }, readAt)).toHaveProperty('bad.reasons.id');
});

test('with tolerated fields only what is not tolerated puts a row into quarantine, whatever comes', () => {
  const tolerant = createRecordParser(
    { ...job, tolerated: ['name', 'price', 'sent', 'seen_at', 'parts.label', 'parts.weight'] },
    { hashed: true, contentKeyed: false },
  );
  const value = fc.oneof(fc.string(), fc.double(), fc.constant(null), fc.boolean(), fc.array(fc.string()), fc.object());
  const part = fc.record({ label: value, weight: value }, { requiredKeys: [] });
  fc.assert(
    fc.property(
      fc.record(
        { name: value, price: value, sent: value, seen_at: value, parts: fc.array(part) },
        { requiredKeys: [] },
      ),
      fields => {
        const parsed = tolerant({ id: 1, ...fields }, readAt);
        if ('bad' in parsed) {
          expect(Object.keys(parsed.bad.reasons)).toEqual(['(unknown fields)']);
          return;
        }
        // Nothing is lost: each field has a column's value or stands in _extra.
        const extra = JSON.parse(parsed.row.extra ?? '{}') as Record<string, unknown>;
        for (const [name, given] of Object.entries(fields)) {
          if (name === 'parts' || given === null || given === '') continue;
          expect(parsed.row.values[name] != null || name in extra, name).toBe(true);
        }
      },
    ),
  );
});
