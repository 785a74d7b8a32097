import { MINUTE, SECOND } from '../clock.ts';

/** Changes that come at an even pace by the source's clock. */
export interface Activity {
  /** Makes the changes that are due by now. */
  catchUp(): void;
  stop(): void;
}

/**
 * Nothing can be seen of a change before the next request, so changes are made then. The timer only prompts, for the sake of
 * webhooks; what is due is decided by `now`, and a clock under a test's control stays in control.
 */
export function createActivity(perMinute: number, now: () => number, change: (at: number) => void): Activity {
  if (perMinute <= 0) return { catchUp() {}, stop() {} };
  const startedAt = now();
  const everyMs = MINUTE / perMinute;
  let made = 0;
  const catchUp = () => {
    const due = Math.floor((now() - startedAt) / everyMs);
    while (made < due) {
      made += 1;
      change(startedAt + made * everyMs);
    }
  };
  const timer = setInterval(catchUp, SECOND);
  timer.unref();
  return { catchUp, stop: () => clearInterval(timer) };
}
