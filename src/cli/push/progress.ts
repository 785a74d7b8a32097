import { type Clock, SECOND } from '../../clock.ts';
import { plural } from '../../service/format.ts';
import type { Terminal } from '../output/terminal.ts';
import { createWaitNote } from '../output/wait-note.ts';

const LINE_EVERY_MS = 2 * SECOND;

/** A line every two seconds while lines are sent, and one for each wait. */
export function createPushProgress(
  terminal: Terminal,
  clock: Clock,
  resource: string,
  timeZone: string,
): { sent: (lines: number) => void } & ReturnType<typeof createWaitNote> {
  let told = clock.now();
  return {
    sent(lines) {
      if (clock.now() - told < LINE_EVERY_MS) return;
      told = clock.now();
      terminal.note(`${resource}: ${plural(lines, 'line')} sent so far`);
    },
    ...createWaitNote(terminal, clock, resource, timeZone),
  };
}
