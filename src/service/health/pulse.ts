/** A watchdog over the sync loops of the process. */
export interface Pulse {
  /** `loop` is alive: it looked for work, committed something, or waits for the request limit. */
  beat(loop: string): void;
  /** `loop` has nothing to do, or another process does it: its silence means nothing until its next beat. */
  rest(loop: string): void;
  /** The loops that have been silent for too long. */
  stalled(): string[];
}

/**
 * `limitMs`: the longest silence allowed; a request with all its retries must fit. `now` is in milliseconds and must be monotonic,
 * or a clock step would make a healthy process restart.
 */
export function createPulse(limitMs: number, now: () => number = () => performance.now()): Pulse {
  const beats = new Map<string, number>();
  return {
    beat: loop => void beats.set(loop, now()),
    rest: loop => void beats.delete(loop),
    stalled: () => [...beats].filter(([, at]) => now() - at > limitMs).map(([loop]) => loop),
  };
}
