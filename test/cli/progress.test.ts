import { expect, test } from 'vitest';
import { createProgress, createWaitNote } from '../../src/cli/output/progress.ts';
import type { Terminal } from '../../src/cli/session/terminal.ts';
import { systemClock } from '../../src/clock.ts';

function notes() {
  const lines: string[] = [];
  const terminal = { watched: null, note: (line: string) => void lines.push(line) } as unknown as Terminal;
  return { terminal, lines };
}

test('the end of a wait is shown in the time zone of the source, with its name', () => {
  const { terminal, lines } = notes();
  const progress = createProgress({ terminal, clock: systemClock });
  const at = Date.UTC(2026, 6, 15, 22, 30, 5);
  progress.of('graz', 'Europe/Vienna').waiting(at);
  progress.of(null, 'UTC').waiting(at);
  expect(lines).toEqual([
    'graz waiting for the request limit until 2026-07-16 00:30:05 Europe/Vienna',
    'waiting for the request limit until 2026-07-15 22:30:05 UTC',
  ]);
});

test('a command that sends its own requests shows a wait in the same way', () => {
  const { terminal, lines } = notes();
  const clock = { ...systemClock, now: () => Date.UTC(2026, 6, 15, 22, 30, 5) };
  createWaitNote(terminal, clock, 'customers', 'Europe/Vienna').onWait('live', 60_000);
  expect(lines).toEqual(['customers: waiting for the request limit until 2026-07-16 00:31:05 Europe/Vienna']);
});

test('a noticeable wait for a retry shows the reason and the time of the next attempt', () => {
  const { terminal, lines } = notes();
  const clock = { ...systemClock, now: () => Date.UTC(2026, 6, 15, 22, 30, 5) };
  const progress = createProgress({ terminal, clock }).of(null, 'UTC');
  const push = createWaitNote(terminal, clock, 'customers', 'UTC');
  for (const waitMs of [1000, 8000]) {
    progress.onEvent({ kind: 'retrying', came: 'HTTP 503', waitMs });
    push.onRetry('HTTP 503', waitMs);
  }
  expect(lines).toEqual([
    'HTTP 503; next attempt at 2026-07-15 22:30:13 UTC',
    'customers: HTTP 503; next attempt at 2026-07-15 22:30:13 UTC',
  ]);
});

test('a source that serves few requests at once is reported with the setting', () => {
  const { terminal, lines } = notes();
  const progress = createProgress({ terminal, clock: systemClock }).of('graz', 'UTC');
  progress.onEvent({ kind: 'crowded', allowed: 2, concurrency: 4 });
  expect(lines).toEqual([
    'graz the source refuses 4 requests at once; sending at most 2. To start with that: SOURCE_CONCURRENCY=2',
  ]);
});
