import { expect, test } from 'vitest';
import { durationText } from '../../src/service/format.ts';

test.each([
  [0.2, '0 seconds'],
  [1, '1 second'],
  [60, '1 minute'],
  [89, '89 seconds'],
  [240, '4 minutes'],
  [5399, '90 minutes'],
  [7200, '2 hours'],
  [35 * 3600, '35 hours'],
  [3 * 86_400, '3 days'],
])('%s seconds are shown as %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});
