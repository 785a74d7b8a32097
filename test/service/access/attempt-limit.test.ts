import { expect, test } from 'vitest';
import { createAttemptLimit } from '../../../src/service/access/attempt-limit.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { silent } from '../with-service.ts';

test('wrong tokens are limited by address and in all; an address that sent the right one is exempt from the limit for all', () => {
  const clock = manualClock();
  const reported: unknown[] = [];
  const limit = createAttemptLimit({ clock, log: { warn: (what: unknown) => reported.push(what) } });
  limit.count('10.0.0.1', true);
  for (let each = 0; each < 99; each++) limit.count(`10.1.0.${each >> 1}`, false);
  expect(reported).toEqual([]);
  limit.count('10.1.0.49', false);
  expect(reported).toEqual([{ address: '10.1.0.49' }]);
  expect(['10.2.0.1', '10.1.0.3', '10.0.0.1'].map(limit.waitSeconds)).toEqual([60, 60, 0]);
  for (let times = 0; times < 10; times++) limit.count('10.0.0.1', false);
  expect(limit.waitSeconds('10.0.0.1')).toBe(60);
  clock.advance(59_001);
  expect(limit.waitSeconds('10.2.0.1')).toBe(1);
  clock.advance(999);
  expect(['10.2.0.1', '10.1.0.3', '10.0.0.1'].map(limit.waitSeconds)).toEqual([0, 0, 0]);
});

test('the addresses of one IPv6 network count as one, and an IPv4 address is the same in both notations', () => {
  const limit = createAttemptLimit({ clock: manualClock(), log: silent });
  for (let each = 0; each < 10; each++) limit.count(`2001:db8::1:${each}`, false);
  for (let each = 0; each < 10; each++) limit.count('::ffff:192.0.2.1', false);
  const waits = ['2001:db8:0:0:ffff::1', '2001:db8:0:1::1', '192.0.2.1', '192.0.2.2', '::1', ''].map(limit.waitSeconds);
  expect(waits).toEqual([60, 0, 60, 0, 0, 0]);
});

test('a clock that is put back blocks nobody for longer than a minute', () => {
  const clock = manualClock();
  const limit = createAttemptLimit({ clock, log: silent });
  for (let times = 0; times < 10; times++) limit.count('10.0.0.1', false);
  clock.advance(-3_600_000);
  expect(limit.waitSeconds('10.0.0.1')).toBe(0);
});
