import { type Clock, SECOND } from '../clock.ts';
import { plural } from '../service/words.ts';
import { createQuotaNote } from './quota-note.ts';
import type { Terminal } from './terminal.ts';

const LINE_EVERY_MS = 2 * SECOND;

/** A line every two seconds while lines are sent, and one for each wait for the request limit. */
export function createPushProgress(
  terminal: Terminal,
  clock: Clock,
  resource: string,
  timeZone: string,
): { sent: (lines: number) => void; waiting: (waitMs: number) => void } {
  let told = clock.now();
  return {
    sent(lines) {
      if (clock.now() - told < LINE_EVERY_MS) return;
      told = clock.now();
      terminal.note(`${resource}: ${plural(lines, 'line')} sent so far`);
    },
    waiting: createQuotaNote(terminal, clock, resource, timeZone),
  };
}
