import { type Clock, SECOND } from '../clock.ts';
import { count, plural } from '../service/words.ts';
import type { Terminal } from './terminal.ts';
import { zoned } from './zoned.ts';

const LINE_EVERY_MS = 2 * SECOND;

/** A line every two seconds while lines are sent, and one for each wait for the request limit. */
export function createPushProgress(
  terminal: Terminal,
  clock: Clock,
  resource: string,
  timeZone: string,
): { sent: (lines: number) => void; waiting: (waitMs: number) => void } {
  let told = clock.now();
  let until = 0;
  return {
    sent(lines) {
      if (clock.now() - told < LINE_EVERY_MS) return;
      told = clock.now();
      terminal.note(`${resource}: ${plural(lines, 'line')} sent so far`);
    },
    waiting(waitMs) {
      const at = clock.now() + waitMs;
      if (waitMs < LINE_EVERY_MS || Math.abs(at - until) < 5 * SECOND) return;
      until = at;
      const wait = `${zoned(at, timeZone)} (${count(Math.ceil(waitMs / SECOND))} s)`;
      terminal.note(`${resource}: waiting for quota until ${wait}`);
    },
  };
}
