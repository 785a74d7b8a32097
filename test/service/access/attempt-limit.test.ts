import { expect, test } from 'vitest';
import { createAttemptLimit } from '../../../src/service/access/attempt-limit.ts';
import { manualClock } from '../../support/manual-clock.ts';

test('wrong tokens are limited by address and in all; an address that sent the right one is exempt from the limit for all', () => {
  const clock = manualClock();
  const limit = createAttemptLimit(clock);
  limit.countSuccess('10.0.0.1');
  const reported = Array.from({ length: 100 }, (_, each) => limit.countFailure(`10.1.0.${each >> 1}`));
  expect(reported.indexOf(true)).toBe(99);
  expect(['10.2.0.1', '10.1.0.3', '10.0.0.1'].map(limit.waitSeconds)).toEqual([60, 60, 0]);
  for (let times = 0; times < 10; times++) limit.countFailure('10.0.0.1');
  expect(limit.waitSeconds('10.0.0.1')).toBe(60);
  clock.advance(59_001);
  expect(limit.waitSeconds('10.2.0.1')).toBe(1);
  clock.advance(999);
  expect(['10.2.0.1', '10.1.0.3', '10.0.0.1'].map(limit.waitSeconds)).toEqual([0, 0, 0]);
});

test('the addresses of one IPv6 network count as one, and an IPv4 address is the same in both notations', () => {
  const limit = createAttemptLimit(manualClock());
  for (let each = 0; each < 10; each++) limit.countFailure(`2001:db8::1:${each}`);
  for (let each = 0; each < 10; each++) limit.countFailure('::ffff:192.0.2.1');
  const waits = ['2001:db8:0:0:ffff::1', '2001:db8:0:1::1', '192.0.2.1', '192.0.2.2', '::1', ''].map(limit.waitSeconds);
  expect(waits).toEqual([60, 0, 60, 0, 0, 0]);
});

test('a clock that is put back blocks nobody for longer than a minute', () => {
  const clock = manualClock();
  const limit = createAttemptLimit(clock);
  for (let times = 0; times < 10; times++) limit.countFailure('10.0.0.1');
  clock.advance(-3_600_000);
  expect(limit.waitSeconds('10.0.0.1')).toBe(0);
});
