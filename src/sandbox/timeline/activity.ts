import { MINUTE, SECOND } from '../../clock.ts';

/** Changes of one sort that come at an even pace by the source's clock. */
export interface Stream {
  perMinute: number;
  change: (at: number) => void;
}

export interface Activity {
  /** Makes the changes that are due by now, in the order they were due in. */
  catchUp(): void;
  stop(): void;
}

/**
 * Nothing can be seen of a change before the next request, so changes are made then. The timer only prompts, for the sake of
 * webhooks; what is due is decided by `now`, and a clock under a test's control stays in control.
 */
export function createActivity(streams: readonly Stream[], now: () => number): Activity {
  const startedAt = now();
  const flowing = streams
    .filter(({ perMinute }) => perMinute > 0)
    .map(({ perMinute, change }) => ({ everyMs: MINUTE / perMinute, change, made: 0 }));
  if (flowing.length === 0) return { catchUp() {}, stop() {} };

  const catchUp = () => {
    const elapsed = now() - startedAt;
    for (;;) {
      const [next] = flowing
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
