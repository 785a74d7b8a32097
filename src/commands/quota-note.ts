import { type Clock, SECOND } from '../clock.ts';
import { count } from '../service/words.ts';
import type { Terminal } from './terminal.ts';
import { zoned } from './zoned.ts';

const SHORTEST_MS = 2 * SECOND;

/** Tells of each wait for the request limit that a person would notice, once, and until when it lasts. */
export function createQuotaNote(
  terminal: Terminal,
  clock: Clock,
  name: string,
  timeZone: string,
): (waitMs: number) => void {
  let until = 0;
  return waitMs => {
    const at = clock.now() + waitMs;
    if (waitMs < SHORTEST_MS || Math.abs(at - until) < 5 * SECOND) return;
    until = at;
    terminal.note(`${name}: waiting for quota until ${zoned(at, timeZone)} (${count(Math.ceil(waitMs / SECOND))} s)`);
  };
}
