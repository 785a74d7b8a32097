import { type Clock, MINUTE, SECOND } from '../clock.ts';
import type { Budget, Grant, Lane } from './budget.ts';

export interface GrantPumpOptions {
  readonly budget: Budget;
  readonly clock: Clock;
  readonly noWait: boolean;
  /** The lane that lacks grants most urgently, and how many requests of it could be sent at once. */
  readonly shortage: () => { lane: Lane; want: number } | undefined;
  readonly onGrants: (lane: Lane, grants: readonly Grant[]) => void;
  readonly onWait: (lane: Lane, waitMs: number) => void;
  /** The limit is used up for longer than `noWait` allows. */
  readonly onRefused: (waitMs: number) => void;
  readonly onError: (error: unknown) => void;
}

export interface GrantPump {
  /** Takes grants until no lane lacks any; resolves then. At once when it already runs. */
  run(): Promise<void>;
  /** Ends a sleep early, so that the shortage is looked at again. */
  wake(): void;
  /** The lane it sleeps for. */
  readonly sleepsFor: Lane | undefined;
}

/** With `noWait`, a wait up to this long is still waited, as is the pace of a lower lane however long. */
const SHORT_MS = 5 * SECOND;
/** The budget is asked again at least this often: another process may have released grants, or the limit may have been raised. */
const LONGEST_SLEEP_MS = MINUTE;

/** Takes grants from a budget for whichever lane lacks them, one question at a time, and sleeps while there are none. */
export function createGrantPump(options: GrantPumpOptions): GrantPump {
  const { budget, clock, noWait, shortage } = options;
  let running = false;
  let asleep: { lane: Lane; waking: AbortController } | undefined;

  async function sleep(lane: Lane, waitMs: number): Promise<void> {
    options.onWait(lane, waitMs);
    // A request of a higher lane may have arrived while the budget was asked.
    if (shortage()?.lane !== lane) return;
    const waking = new AbortController();
    asleep = { lane, waking };
    try {
      await clock.sleep(Math.min(Math.max(waitMs, 1), LONGEST_SLEEP_MS), waking.signal);
    } catch {
      // Woken early.
    } finally {
      asleep = undefined;
    }
  }

  return {
    get sleepsFor() {
      return asleep?.lane;
    },
    wake: () => asleep?.waking.abort(),
    async run() {
      if (running) return;
      running = true;
      try {
        for (let lack = shortage(); lack; lack = shortage()) {
          const { lane, want } = lack;
          const { grants, waitMs, paced } = await budget.take(lane, want);
          if (grants.length > 0) options.onGrants(lane, grants);
          else if (noWait && !paced && waitMs > SHORT_MS) options.onRefused(waitMs);
          else await sleep(lane, waitMs);
        }
      } catch (error) {
        options.onError(error);
      } finally {
        running = false;
      }
    },
  };
}
