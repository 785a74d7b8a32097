import { expect, test } from 'vitest';
import { shownOrderState, shownRunState } from '../../../src/service/status/source-state.ts';

test('a run is shown as running only while a process reads its source', () => {
  expect(shownRunState('running', { isRead: true, isServed: false })).toBe('running');
  expect(shownRunState('running', { isRead: false, isServed: false })).toBe('stopped');
  expect(shownRunState('running', { isRead: false, isServed: true })).toBe('stopped');
  expect(shownOrderState('running', { isRead: true })).toBe('running');
  expect(shownOrderState('running', { isRead: false })).toBe('waiting');
});

test('a run that waits for the request limit is shown as waiting only while somebody will continue it', () => {
  expect(shownRunState('waiting', { isRead: false, isServed: true })).toBe('waiting');
  expect(shownRunState('waiting', { isRead: true, isServed: false })).toBe('waiting');
  expect(shownRunState('waiting', { isRead: false, isServed: false })).toBe('stopped');
});
