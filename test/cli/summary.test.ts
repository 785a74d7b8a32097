import { expect, test } from 'vitest';
import { failuresOf, type OrderSummary, problemOf } from '../../src/cli/run/summary.ts';

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

const DONE = {
  kind: 'sync',
  state: 'done',
  read: 600,
  unreadable: 0,
  listed: null,
  missing: 0,
  quarantined: 0,
} as const;

test('a sync fails if more than a tenth of what it read could not be parsed', () => {
  expect(problemOf({ ...DONE, unreadable: 60 })).toBeNull();
  expect(problemOf({ ...DONE, unreadable: 61 })).toBe(
    'failed: 61 of 600 records that were read could not be parsed and are in quarantine. See: sluice quarantine',
  );
  expect(problemOf({ ...DONE, read: 7000, listed: 480, unreadable: 122 })).toBe(
    'failed: 122 of 602 records that were read could not be parsed and are in quarantine. See: sluice quarantine',
  );
  expect(problemOf({ ...DONE, read: 100, listed: 100_000, unreadable: 10 })).toBeNull();
  // Nothing was read of what is in quarantine from before.
  expect(problemOf({ ...DONE, read: 0, quarantined: 5, missing: 3 })).toBeNull();
});

test('a repair fails while anything still differs', () => {
  const repair = { ...DONE, kind: 'verify' } as const;
  expect(problemOf(repair)).toBeNull();
  expect(problemOf({ ...repair, quarantined: 1 })).toBe(
    'still differs from the source: 1 record could not be parsed. See: sluice quarantine',
  );
  expect(problemOf({ ...repair, quarantined: 3, missing: 2 })).toBe(
    'still differs from the source: 3 records could not be parsed, and the deletion of 2 missing rows is not proven. See: sluice quarantine',
  );
});
