import { expect, test } from 'vitest';
import { createProgress } from '../../src/cli/output/progress.ts';
import type { Terminal } from '../../src/cli/output/terminal.ts';
import { createPushProgress } from '../../src/cli/push/progress.ts';
import { systemClock } from '../../src/clock.ts';

function notes() {
  const lines: string[] = [];
  const terminal = { watched: false, note: (line: string) => void lines.push(line) } as unknown as Terminal;
  return { terminal, lines };
}

test('until when a command waits is told with its zone, that of the source', () => {
  const { terminal, lines } = notes();
  const progress = createProgress({ terminal, clock: systemClock });
  const at = Date.UTC(2026, 6, 15, 22, 30, 5);
  progress.of('graz', 'Europe/Vienna').waiting(at);
  progress.of(null, 'UTC').waiting(at);
  expect(lines).toEqual([
    'graz waiting for quota until 2026-07-16 00:30:05 Europe/Vienna',
    'waiting for quota until 2026-07-15 22:30:05 UTC',
  ]);
});

test('a push tells it the same way', () => {
  const { terminal, lines } = notes();
  const clock = { ...systemClock, now: () => Date.UTC(2026, 6, 15, 22, 30, 5) };
  createPushProgress(terminal, clock, 'customers', 'Europe/Vienna').onWait('live', 60_000);
  expect(lines).toEqual(['customers: waiting for quota until 2026-07-16 00:31:05 Europe/Vienna']);
});

test('what came instead of an answer is told, and when it is asked again, where that takes long enough to notice', () => {
  const { terminal, lines } = notes();
  const clock = { ...systemClock, now: () => Date.UTC(2026, 6, 15, 22, 30, 5) };
  const progress = createProgress({ terminal, clock }).of(null, 'UTC');
  const push = createPushProgress(terminal, clock, 'customers', 'UTC');
  for (const waitMs of [1000, 8000]) {
    progress.onEvent({ kind: 'retrying', came: 'HTTP 503', waitMs });
    push.onRetry('HTTP 503', waitMs);
  }
  expect(lines).toEqual([
    'HTTP 503; asked again at 2026-07-15 22:30:13 UTC',
    'customers: HTTP 503; asked again at 2026-07-15 22:30:13 UTC',
  ]);
});
