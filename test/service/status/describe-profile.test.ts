import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeProfile } from '../../../src/service/status/describe-profile.ts';

const trait = (resource: string, name: string, value: string) => ({ resource, trait: name, value, evidence: 'seen' });

test('each list is described in one sentence, with its traits always in the same order', () => {
  const traits = [
    trait('customers', 'page size', '100'),
    trait('customers', 'order', 'id-desc'),
    trait('invoices', 'filter status', 'ignored'),
    trait('invoices', 'paging', 'ignored'),
    trait('invoices', 'date filter', 'ignored'),
    trait('transactions', 'undated', 'yes'),
    trait('transactions', 'ids', 'no'),
  ];
  expect(describeProfile(traits)).toEqual([
    { list: 'customers', words: 'newest id first; page size 100' },
    { list: 'invoices', words: 'one response without pages; ignores the date filter; ignores the status filter' },
    { list: 'transactions', words: 'rows have no id; some rows have no date' },
  ]);
  expect(describeProfile([...traits].reverse().sort((a, b) => (a.resource < b.resource ? -1 : 1)))).toEqual(
    describeProfile(traits),
  );
});

test('what concerns the whole source is described beside its lists', () => {
  const atOnce = (value: string) => describeProfile([trait('(source)', 'requests at once', value)]);
  expect(atOnce('2')).toEqual([
    { list: '(source)', words: 'serves at most 2 requests at once; SOURCE_CONCURRENCY may be lowered to that' },
  ]);
  expect(atOnce('as set')[0]?.words).toBe('serves as many requests at once as SOURCE_CONCURRENCY says');
  const limit = (value: string) => describeProfile([trait('(source)', 'request limit', value)])[0]?.words;
  expect(limit('60 in 66 s')).toBe(
    'allows 60 requests in 66 seconds or less; to use all of them: SOURCE_RATE_LIMIT=60 SOURCE_RATE_WINDOW_SECONDS=66',
  );
  expect(limit('as set')).toBe('counts its request limit as SOURCE_RATE_WINDOW_SECONDS says');
});

test('a list has as many unknown fields as are remembered', () => {
  const words = (count: number) => {
    const unknown = Object.fromEntries(Array.from({ length: count }, (_, name) => [`field ${name}`, null]));
    const value = JSON.stringify({ learningSince: null, unknown, vanished: {} });
    return describeProfile([trait('invoices', 'drift', value)])[0]?.words;
  };
  expect([words(99), words(100)]).toEqual(['', 'rows have at least 100 unknown fields; further ones are not reported']);
});

test('a trait or value without words is shown as stored', () => {
  const any = fc.constantFrom(
    'order',
    'paging',
    'page size',
    'limit',
    'ids',
    'dates',
    'undated',
    'filter type',
    'mood',
  );
  fc.assert(
    fc.property(fc.uniqueArray(any, { minLength: 1 }), fc.stringMatching(/^[a-z0-9]{1,8}$/), (names, value) => {
      const [told] = describeProfile(names.map(name => trait('invoices', name, value)));
      expect(told?.words.split('; ')).toHaveLength(names.length);
    }),
  );
  expect(describeProfile([trait('invoices', 'mood', 'odd')])).toEqual([{ list: 'invoices', words: 'mood: odd' }]);
  expect(describeProfile([])).toEqual([]);
});
