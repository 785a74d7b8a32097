import { expect, test } from 'vitest';
import { failures, type ServedSummary } from '../../src/cli/output/summary.ts';

const ENDED: ServedSummary = {
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
  requests: 0,
  seconds: 0,
};

test('an order that the service tries again is told as failed for now', () => {
  expect(failures([ENDED])).toBeNull();
  const reason = 'The source did not answer within 30 s.';
  expect(
    failures([
      { ...ENDED, state: 'waiting', reason },
      { ...ENDED, resource: 'users', state: 'failed', reason },
    ]),
  ).toEqual({
    kind: 'failed',
    message: `invoices failed for now, and the running service tries again in ten minutes: ${reason}\nusers failed: ${reason}`,
  });
});
