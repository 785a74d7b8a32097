import fc from 'fast-check';
import { expect, test } from 'vitest';
import { habits } from '../../src/cli/output/describe-profile.ts';

const trait = (resource: string, name: string, value: string) => ({ resource, trait: name, value, evidence: 'seen' });

test('each list is told in one sentence, the same traits always in the same order', () => {
  const traits = [
    trait('customers', 'page size', '100'),
    trait('customers', 'order', 'id-desc'),
    trait('invoices', 'filter status', 'ignored'),
    trait('invoices', 'paging', 'ignored'),
    trait('invoices', 'date filter', 'ignored'),
    trait('transactions', 'undated', 'yes'),
    trait('transactions', 'ids', 'no'),
  ];
  expect(habits(traits)).toEqual([
    { list: 'customers', words: 'newest id first; page size 100' },
    { list: 'invoices', words: 'one body, no paging; the date filter is ignored; the filter by status is ignored' },
    { list: 'transactions', words: 'no ids; some rows have no date' },
  ]);
  expect(habits([...traits].reverse().sort((a, b) => (a.resource < b.resource ? -1 : 1)))).toEqual(habits(traits));
});

test('whatever was learnt is told: a trait or a value without words of its own as it stands', () => {
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
      const [told] = habits(names.map(name => trait('invoices', name, value)));
      expect(told?.words.split('; ')).toHaveLength(names.length);
    }),
  );
  expect(habits([trait('invoices', 'mood', 'odd')])).toEqual([{ list: 'invoices', words: 'mood: odd' }]);
  expect(habits([])).toEqual([]);
});
