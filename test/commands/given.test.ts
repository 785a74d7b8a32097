import { expect, test } from 'vitest';
import customers from '../../jobs/customers.ts';
import invoices from '../../jobs/invoices.ts';
import { chosenRange, chosenResources, wholeNumber } from '../../src/cli/cli-options.ts';

const JOBS = new Map([
  ['customers', customers],
  ['invoices', invoices],
]);

test('dates are whole days, both included', () => {
  expect(chosenRange(JOBS, 'invoices', { from: '2024-02-29', to: '2024-02-29' })).toEqual({
    from: '2024-02-29',
    to: '2024-02-29',
  });
  expect(chosenRange(JOBS, 'invoices', { from: '2024-01-01' })).toEqual({ from: '2024-01-01', to: null });
  expect(chosenRange(JOBS, 'customers', {})).toEqual({ from: null, to: null });
});

test.each(['2025-02-29', '2025-13-01', '2025-1-1', '20250101', 'now', '', '0000-00-00', '2025-01-01T00:00'])(
  '"%s" is no date',
  text => {
    expect(() => chosenRange(JOBS, 'invoices', { from: text })).toThrow(`--from ${text} is no date.`);
  },
);

test('crossed dates, dates for a list without them, and unknown resources are refused', () => {
  expect(() => chosenRange(JOBS, 'invoices', { from: '2025-02-01', to: '2025-01-31' })).toThrow(
    '--from 2025-02-01 is after --to 2025-01-31.',
  );
  expect(() => chosenRange(JOBS, 'customers', { to: '2025-01-31' })).toThrow('customers has no dates');
  expect(() => chosenResources(JOBS, ['invoices', 'invoice'])).toThrow('There is no resource "invoice".');
  expect(chosenResources(JOBS, [])).toEqual(['customers', 'invoices']);
  expect(chosenResources(JOBS, ['invoices', 'invoices'])).toEqual(['invoices']);
});

test('numbers are whole and in their range', () => {
  expect(wholeNumber('--n', 0, 10)('10')).toBe(10);
  for (const text of ['11', '-1', '1.5', '1e1', '', 'ten'])
    expect(() => wholeNumber('--n', 0, 10)(text)).toThrow(`--n ${text} is not possible.`);
});
