import { type Clock, SECOND } from '../../clock.ts';
import { plural } from '../../service/format.ts';
import { createWaitNote } from '../output/wait-note.ts';
import type { Terminal } from '../session/terminal.ts';

const LINE_EVERY_MS = 2 * SECOND;

/** Prints a line every two seconds while lines are sent, and one for each wait. */
export function createPushProgress(
  terminal: Terminal,
  clock: Clock,
  resource: string,
  timeZone: string,
): { sent: (lines: number) => void } & ReturnType<typeof createWaitNote> {
  let reportedAt = clock.now();
  return {
    sent(lines) {
      if (clock.now() - reportedAt < LINE_EVERY_MS) return;
      reportedAt = clock.now();
      terminal.note(`${resource}: ${plural(lines, 'line')} sent so far`);
    },
    ...createWaitNote(terminal, clock, resource, timeZone),
  };
}
