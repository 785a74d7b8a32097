import { expect, test } from 'vitest';
import customers from '../../jobs/customers.ts';
import invoices from '../../jobs/invoices.ts';
import { parseWholeNumber, selectResources } from '../../src/cli/session/session.ts';
import { parseRange } from '../../src/service/orders/order-requests.ts';

const JOBS = new Map([
  ['customers', customers],
  ['invoices', invoices],
]);

test('--from and --to are whole days, both inclusive', () => {
  expect(parseRange(JOBS, 'invoices', { from: '2024-02-29', to: '2024-02-29' })).toEqual({
    from: '2024-02-29',
    to: '2024-02-29',
  });
  expect(parseRange(JOBS, 'invoices', { from: '2024-01-01' })).toEqual({ from: '2024-01-01', to: null });
  expect(parseRange(JOBS, 'customers', {})).toEqual({ from: null, to: null });
});

test.each(['2025-02-29', '2025-13-01', '2025-1-1', '20250101', 'now', '', '0000-00-00', '2025-01-01T00:00'])(
  '"%s" is not a valid date',
  text => {
    expect(() => parseRange(JOBS, 'invoices', { from: text })).toThrow(`--from ${text} is not a valid date.`);
  },
);

test('reversed ranges, dates for a resource without them, and unknown resources are refused', () => {
  expect(() => parseRange(JOBS, 'invoices', { from: '2025-02-01', to: '2025-01-31' })).toThrow(
    '--from 2025-02-01 is after --to 2025-01-31.',
  );
  expect(() => parseRange(JOBS, 'customers', { to: '2025-01-31' })).toThrow('customers has no dates');
  expect(() => selectResources(JOBS, ['invoices', 'invoice'])).toThrow(
    'Unknown resource "invoice" (did you mean "invoices"?).',
  );
  expect(selectResources(JOBS, [])).toEqual(['customers', 'invoices']);
  expect(selectResources(JOBS, ['invoices', 'invoices'])).toEqual(['invoices']);
});

test('a numeric option takes whole numbers in its range', () => {
  expect(parseWholeNumber('--n', 0, 10)('10')).toBe(10);
  for (const text of ['11', '-1', '1.5', '1e1', '', 'ten'])
    expect(() => parseWholeNumber('--n', 0, 10)(text)).toThrow(`--n ${text} is not valid.`);
});
