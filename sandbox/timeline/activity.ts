import { MINUTE, SECOND } from '../../src/clock.ts';

/** Changes at an even pace of the source's time. */
export interface ActivityStream {
  perMinute: number;
  /** `at`: when the change was due, in milliseconds since the epoch. */
  change: (at: number) => void;
}

export interface Activity {
  /** Makes all changes that are due, in order of their due times. */
  readonly catchUp: () => void;
  readonly stop: () => void;
}

/**
 * A change cannot be observed before the next request, so changes are made then. The timer exists only for webhooks; `now`
 * alone decides what is due, so a test's clock stays in control.
 */
export function createActivity(streams: readonly ActivityStream[], now: () => number): Activity {
  const startedAt = now();
  const running = streams
    .filter(({ perMinute }) => perMinute > 0)
    .map(({ perMinute, change }) => ({ everyMs: MINUTE / perMinute, change, made: 0 }));
  if (running.length === 0) return { catchUp() {}, stop() {} };

  const catchUp = () => {
    const elapsed = now() - startedAt;
    for (;;) {
      const [next] = running
        .filter(stream => stream.made < Math.floor(elapsed / stream.everyMs))
        .sort((a, b) => (a.made + 1) * a.everyMs - (b.made + 1) * b.everyMs);
      if (next === undefined) return;
      next.made += 1;
      next.change(startedAt + next.made * next.everyMs);
    }
  };
  const timer = setInterval(catchUp, SECOND);
  timer.unref();
  return { catchUp, stop: () => clearInterval(timer) };
}
