import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromStored, toStored } from '../../../src/warehouse/ledgers/stored-keys.ts';

const key = fc.oneof(
  fc.integer({ min: 0, max: 60 }).map(String),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.constantFrom('#9f/1', '#9f/2', '?9223372036854775808', '007', '-0', '1.5', '9'.repeat(15), '9'.repeat(16)),
);

test('what is stored of keys brings back the same keys', () => {
  fc.assert(
    fc.property(fc.uniqueArray(key), keys => {
      expect(fromStored(toStored(keys)).sort()).toEqual([...keys].sort());
    }),
    { numRuns: 2000 },
  );
});

test('ids that follow each other are stored as runs, in whatever order they came', () => {
  const keys = Array.from({ length: 1000 }, (_, index) => String(1000 - index)).filter(id => id !== '500');
  expect(toStored([...keys, '2000'])).toEqual({ ids: '1-499,501-1000,2000' });
  expect(toStored(['2', '1', '#9f/1'])).toEqual({ ids: '1-2', others: ['#9f/1'] });
  expect(toStored([])).toEqual({ ids: '' });
});
