import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { MINUTE, SECOND } from '../../../src/clock.ts';
import { createLog } from '../../../src/log.ts';
import { watchEventLoop } from '../../../src/service/health/health.ts';
import { manualClock } from '../../support/manual-clock.ts';

function watched(delays: Parameters<typeof watchEventLoop>[0]['delays']) {
  const clock = manualClock();
  const lines: { level: number; blockedMs: number }[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line)) } as unknown as NodeJS.WritableStream;
  const log = createLog({ level: 'info', destination });
  const stop = watchEventLoop({ clock, log, ...(delays && { delays }) });
  const pass = async (ms: number) => {
    const [next] = await clock.sleepers();
    clock.advance(ms);
    await new Promise(resolve => setImmediate(resolve));
    return next;
  };
  return { lines, pass, stop };
}

test('work that blocks the event loop for longer than a second is reported', async () => {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  const { lines, pass, stop } = watched(delays);
  // The histogram counts from its first interval on.
  while (delays.count === 0) await new Promise(resolve => setTimeout(resolve, 1));
  const counted = delays.count;
  for (const until = performance.now() + 1.2 * SECOND; performance.now() < until; );
  while (delays.count === counted) await new Promise(resolve => setTimeout(resolve, 1));
  await pass(5 * SECOND);
  expect(lines).toMatchObject([{ level: 40, blockedMs: expect.any(Number) }]);
  expect(lines[0]?.blockedMs).toBeGreaterThan(SECOND);
  await stop();
});

test('shorter work is not reported, and longer work at most once a minute', async () => {
  const delays = {
    max: 0.9 * SECOND * 1e6,
    enable: () => true,
    disable: () => true,
    reset: () => {
      delays.max = 0;
    },
  };
  const { lines, pass, stop } = watched(delays);
  await pass(5 * SECOND);
  expect(lines).toEqual([]);
  for (let seconds = 0; seconds < 120; seconds += 5) {
    delays.max = Math.max(delays.max, (2 * SECOND + seconds) * 1e6);
    await pass(5 * SECOND);
  }
  expect(lines.length).toBe(2);
  await pass(MINUTE);
  await stop();
});
