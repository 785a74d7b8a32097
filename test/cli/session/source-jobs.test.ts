import { expect, test } from 'vitest';
import { checkMasks, jobsOf, unknownMasks } from '../../../src/cli/session/source-jobs.ts';
import type { SourceConfig } from '../../../src/config/config.ts';
import { createRecordParser } from '../../../src/engine/records/parse-record.ts';
import { JOBS } from '../../support/resources.ts';

const jobs = new Map(Object.entries(JOBS));
const source = (rules: { never?: string[]; hash?: string[] }) =>
  ({ name: 'vienna', history: {}, rewriteLimits: {}, never: [], hash: [], ...rules }) as unknown as SourceConfig;
const KEY = 'k'.repeat(32);
const check = (rules: { never?: string[]; hash?: string[] }, hashKey: string | null = KEY) =>
  checkMasks({ sources: [source(rules)], hashKey }, jobs);
const parse = (list: keyof typeof JOBS, rules: Parameters<typeof source>[0], record: object) =>
  createRecordParser(jobsOf(source(rules), jobs, KEY).get(list) as (typeof JOBS)[typeof list], {
    hashed: true,
    contentKeyed: true,
  })(record, '2026-01-15 10:00:00+00');

test.each([
  [
    { never: ['customer.phone'] },
    'names "customer.phone", but there is no list "customer" (did you mean "customers"?).',
  ],
  [{ never: ['customers.id'] }, 'names "customers.id", by which customers is read.'],
  [{ never: ['Status'] }, 'names "Status", by which invoices'],
  [{ never: ['invoices.date'] }, 'names "invoices.date", by which invoices is read.'],
  [{ never: ['items'] }, 'names "items", but in invoices that is a list of rows.'],
  [{ never: ['invoices.items'] }, 'names "invoices.items", but in invoices that is a list of rows.'],
  [{ never: ['suppliers.record'] }, 'names "suppliers.record", by which suppliers is read.'],
  [{ never: ['customers.'] }, 'names "customers.".'],
  [{ hash: ['customers.email'], never: ['E-Mail'] }, 'names "customers.email", as does SOURCE_NEVER.'],
  [{ hash: ['customers.emial'] }, 'names "customers.emial", which is no column of type text.'],
  [{ hash: ['email'] }, 'names "email", which is no column of type text.'],
  [{ hash: ['invoices.amount'] }, 'names "invoices.amount", which is no column of type text.'],
  [{ hash: ['customers.email'], never: ['customers.email'] }, 'names "customers.email", as does SOURCE_NEVER.'],
])('%j is refused', (rules, message) => {
  expect(() => check(rules)).toThrow(message);
});

test('a name without a column is told, with the one that may be meant', () => {
  expect(unknownMasks(source({ never: ['iban', 'customers.E-Mail', 'customers.phnoe', 'users.iban'] }), jobs)).toEqual([
    { name: 'customers.phnoe', hint: ' (did you mean "phone"?)' },
    { name: 'users.iban', hint: '' },
  ]);
});

test('hashes need a key', () => {
  expect(() => check({ hash: ['customers.email'] }, null)).toThrow('is set, but SLUICE_HASH_KEY is not.');
  expect(() => check({ hash: ['customers.email'], never: ['iban', 'customers.phone', 'users.E-Mail'] })).not.toThrow();
  expect(() => check({ never: ['constructor'] })).not.toThrow();
});

test('what is never stored is in no column, no unknown field and no quarantined record, in any spelling', () => {
  const rules = { never: ['customers.phone', 'invoices.items.description', 'iban'] };
  const hostile = {
    id: 7,
    account: 'Ann',
    phone: 'planted',
    Phone: 'planted',
    other: { PHONE: 'planted', iban: 'planted' },
  };
  expect(JSON.stringify(parse('customers', rules, hostile))).not.toContain('planted');
  expect(JSON.stringify(parse('customers', rules, { ...hostile, id: 'x' }))).not.toContain('planted');
  expect(parse('customers', rules, hostile)).toMatchObject({ row: { values: { id: '7', account: 'Ann' } } });
  const invoice = { id: 1, items: [{ description: 'planted', qty: 2, IBAN: 'planted' }], notes: 'description' };
  const parsed = parse('invoices', rules, invoice);
  expect(JSON.stringify(parsed)).not.toContain('planted');
  expect(parsed).toMatchObject({
    row: { children: { items: [{ values: { qty: '2' } }] }, values: { notes: 'description' } },
  });
  // Another spelling is the same rule.
  const masksOf = (never: string) =>
    Object.keys(jobsOf(source({ never: [never] }), jobs, KEY).get('customers')?.masks ?? {});
  expect([masksOf('IBAN'), masksOf('customers.E-Mail')]).toEqual([masksOf('iban'), ['email']]);
  // Elsewhere it is stored.
  expect(parse('users', rules, { id: 1, phone: '1' })).toMatchObject({ row: { extra: '{"phone":"1"}' } });
});

test('a hash joins, tells its key, and leaves what is empty', () => {
  const rules = { hash: ['customers.email', 'users.email'] };
  const emailOf = (list: 'customers' | 'users', email: unknown) => {
    const parsed = parse(list, rules, { id: 1, email });
    return 'row' in parsed ? parsed.row.values.email : parsed.bad;
  };
  expect(emailOf('customers', 'ann@example.com')).toMatch(/^[0-9a-f]{64}$/);
  expect(emailOf('customers', 'ann@example.com')).toBe(emailOf('users', 'ann@example.com'));
  expect(emailOf('customers', 'ann@example.com')).not.toBe(emailOf('customers', 'bob@example.com'));
  expect([emailOf('customers', null), emailOf('customers', '')]).toEqual([null, '']);
  // What no text column could hold is not kept in quarantine as it came.
  expect(emailOf('customers', { mail: 'ann@example.com' })).toMatch(/^[0-9a-f]{64}$/);
  // Where it has no column, no clear text is left beside its hash.
  const hostile = { id: 1, email: 'x@planted', Email: 'x@planted', contact: { email: 'x@planted' } };
  for (const record of [hostile, [[hostile]], { ...hostile, id: 'x' }])
    expect(JSON.stringify(parse('customers', rules, record))).not.toContain('planted');
  const lines = { hash: ['invoices.items.description'] };
  const line = { description: 'planted', qty: 1, more: [{ description: 'planted' }] };
  for (const items of [[line], { 0: line }, line, [[line]], JSON.stringify([line])])
    expect(JSON.stringify(parse('invoices', lines, { id: 1, items }))).not.toContain('planted');
  const marks = [KEY, 'x'.repeat(32)].map(key => jobsOf(source(rules), jobs, key).get('users')?.masks.email);
  expect(new Set(marks.map(mask => JSON.stringify(mask))).size).toBe(2);
});
