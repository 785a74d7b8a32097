import { createTask } from 'node-cron';
import { expect, test } from 'vitest';
import { latestTick } from '../../src/engine/schedule.ts';

const task = (pattern: string) => createTask(pattern, () => undefined, { timezone: 'UTC' });
const at = (text: string) => Date.parse(text);

test('the newest missed tick is caught up, once, whatever was missed before it', () => {
  const quarterly = task('*/15 * * * *');
  const now = at('2026-01-15T10:44:30Z');
  expect(latestTick(quarterly, now, at('2026-01-15T08:00:00Z'))).toEqual(new Date('2026-01-15T10:30:00Z'));
  expect(latestTick(quarterly, now, at('2026-01-15T10:30:00Z'))).toBeNull();
});

test('a rare schedule is looked for over days', () => {
  expect(latestTick(task('0 3 1 * *'), at('2026-01-15T10:44:30Z'), at('2025-12-20T00:00:00Z'))).toEqual(
    new Date('2026-01-01T03:00:00Z'),
  );
});

test('the first start begins at once', () => {
  expect(latestTick(task('0 3 1 * *'), at('2026-01-15T10:44:30Z'), null)).toEqual(new Date('2026-01-15T10:44:00Z'));
});
