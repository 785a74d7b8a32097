import { type Clock, SECOND } from '../../clock.ts';
import type { Terminal } from './terminal.ts';
import { zoned } from './zoned.ts';

/** A shorter wait is not worth a line. */
export const NOTICED_MS = 2 * SECOND;

export const quotaText = (at: number, timeZone: string): string => `waiting for quota until ${zoned(at, timeZone)}`;

/** `came`: what came instead of an answer. */
export const retryText = (came: string, at: number, timeZone: string): string =>
  `${came}; asked again at ${zoned(at, timeZone)}`;

/** Tells of each wait that a person would notice, once, why it is and until when. */
export function createWaitNote(terminal: Terminal, clock: Clock, name: string, timeZone: string) {
  let until = 0;
  const note = (waitMs: number, text: (at: number) => string) => {
    const at = clock.now() + waitMs;
    if (waitMs < NOTICED_MS || Math.abs(at - until) < 5 * SECOND) return;
    until = at;
    terminal.note(`${name}: ${text(at)}`);
  };
  return {
    onWait: (_lane: unknown, waitMs: number) => note(waitMs, at => quotaText(at, timeZone)),
    onRetry: (came: string, waitMs: number) => note(waitMs, at => retryText(came, at, timeZone)),
  };
}
