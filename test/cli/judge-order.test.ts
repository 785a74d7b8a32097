import { expect, test } from 'vitest';
import { problemOf } from '../../src/cli/run/summary.ts';

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
