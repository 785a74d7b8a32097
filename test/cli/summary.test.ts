import { expect, test } from 'vitest';
import { failuresOf, type OrderSummary } from '../../src/cli/run/summary.ts';

const ENDED: OrderSummary = {
  source: 'main',
  resource: 'invoices',
  order: 17,
  kind: 'sync',
  state: 'done',
  reason: null,
  new: 0,
  changed: 0,
  unchanged: 0,
  deleted: 0,
  missing: 0,
  quarantined: 0,
  replaced: 0,
  read: 0,
  unreadable: 0,
  listed: null,
  end: null,
  slices: 4,
  proven: 4,
  requests: 0,
  seconds: 0,
};

test('an order that the service retries is reported as failed, with when it is retried', () => {
  expect(failuresOf([ENDED])).toBeNull();
  const reason = 'The source did not answer within 30 s.';
  expect(
    failuresOf([
      { ...ENDED, state: 'waiting', reason },
      { ...ENDED, resource: 'users', state: 'failed', reason },
    ]),
  ).toEqual({
    kind: 'failed',
    message: `invoices failed; the running service tries again in ten minutes. Reason: ${reason}\nusers failed: ${reason}`,
  });
});
