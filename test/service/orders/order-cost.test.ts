import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/clock.ts';
import { estimateRemaining, remainingText } from '../../../src/service/orders/order-cost.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');
const PACE = { limit: 1000, windowMs: HOUR, nextFreeAt: null };
const progress = { slices: 4, proven: 2, requestsLeft: 100, neverRead: 0 };
const at = (value: number) => new Date(value).toISOString();

test('an order finishes at the pace of the limit, counted from the next free request', () => {
  expect(estimateRemaining(progress, PACE, NOW, 1).finishesAt).toBe(NOW + 6 * MINUTE);
  const later = { ...PACE, nextFreeAt: NOW + 30 * MINUTE };
  expect(estimateRemaining(progress, later, NOW, 2).finishesAt).toBe(NOW + 42 * MINUTE);
  // A time that has passed does not hold anything up.
  expect(estimateRemaining(progress, { ...PACE, nextFreeAt: NOW - HOUR }, NOW, 1).finishesAt).toBe(NOW + 6 * MINUTE);
});

test('an order of unknown size is never said to need at least 0 requests', () => {
  const nothing = { slices: 0, proven: 0, requestsLeft: 0, neverRead: 0 };
  expect(remainingText(estimateRemaining(nothing, PACE, NOW, 1), at)).toBe('not known yet');
  const unread = { ...progress, requestsLeft: 1, neverRead: 1 };
  expect(remainingText(estimateRemaining(unread, PACE, NOW, 1), at)).toBe('at least 1 request');
});
