import Bottleneck from 'bottleneck';
import { type Clock, MINUTE, SECOND, stopped } from '../clock.ts';
import { SluiceError } from '../errors.ts';
import { type Budget, type Grant, type Lane, rankOf } from './budget.ts';
import { afterAnswer, afterRefusal, type Sent, sentAt, startConcurrency } from './concurrency.ts';

export interface LimiterOptions {
  budget: Budget;
  /** Requests in flight at once, at most. */
  concurrency: number;
  /** The number at which an earlier process ended. Default: `concurrency`. */
  knownConcurrency?: number | undefined;
  /** Called when the source's refusals or answers change the number. */
  onConcurrency?: (allowed: number) => void;
  clock: Clock;
  /** Refuse with the kind `quota` instead of waiting more than 5 s for a limit that is used up. Default false. */
  noWait?: boolean;
  /** Called whenever a lane begins to wait for the limit. */
  onWait?: (lane: Lane, waitMs: number) => void;
  /** Called when the budget could not take grants back; they then count until their window ends. */
  onReleaseError?: (error: unknown) => void;
}

/** One of the requests that may be in flight at once. */
export interface Place {
  /** Reports that the source served the request, or refused it because it serves too many at once. */
  report(outcome: 'served' | 'crowded'): void;
}

export interface Limiter {
  /** Runs `send` as soon as its lane has a grant and a free place. The grant is then the caller's to settle or release. */
  schedule<T>(
    lane: Lane,
    signal: AbortSignal | undefined,
    send: (grant: Grant, place: Place) => Promise<T>,
  ): Promise<T>;
  /** Returns grants that were never sent. */
  release(grants: readonly Grant[]): Promise<void>;
  /** Refuses everything that waits, releases unused grants, and resolves when nothing is in flight. */
  close(): Promise<void>;
}

/** A request that waits for its lane. */
interface Waiter {
  readonly lane: Lane;
  readonly serve: (grant: Grant, place: Place) => Promise<void>;
  readonly refuse: (error: unknown) => void;
}

/** With `noWait`, a wait up to this long is still waited, as is the pace of a lower lane however long. */
const SHORT_MS = 5 * SECOND;
/** The budget is asked again at least this often: another process may have released grants, or the limit may have been raised. */
const LONGEST_SLEEP_MS = MINUTE;

/**
 * Lanes, concurrency and limit in one Bottleneck queue: a request is a job with its lane's priority, and the reservoir holds the grants at
 * hand, so that a job starts once there is one and a place is free. Grants are taken for the highest lane that lacks one, only as many as
 * can be sent at once.
 *
 * A job that starts serves whoever is first. That is its own request, unless Bottleneck has not queued an earlier one yet, which takes it
 * some milliseconds, or the request has left, which a job cannot.
 *
 * Invariant: units in the reservoir + jobs that start and have not yet claimed a grant = `grants.length`. All functions below keep it over
 * the same few variables, which is why they share one closure of more than 60 lines.
 */
export function createLimiter(options: LimiterOptions): Limiter {
  const { budget, clock, noWait = false } = options;
  let concurrency = startConcurrency(options.concurrency, options.knownConcurrency);
  // Never refresh options: the refresh is a fixed window from the start of the process, and dies on updateSettings().
  const bottleneck = new Bottleneck({ maxConcurrent: concurrency.allowed, reservoir: 0, rejectOnDrop: false });
  const waiters = new Set<Waiter>();
  const grants: { readonly lane: Lane; readonly grant: Grant }[] = [];
  let inFlight = 0;
  let asking = false;
  let asked = Promise.resolve();
  let released: Promise<unknown> = Promise.resolve();
  let asleep: { readonly lane: Lane; readonly waking: AbortController } | undefined;
  let closed: SluiceError | undefined;
  let closing: Promise<void> | undefined;

  /** The waiters, the highest lane first, and each lane in order of arrival. */
  const inOrder = (): Waiter[] => [...waiters].sort((a, b) => rankOf(a.lane) - rankOf(b.lane));

  /** Queues a job unless there is one for each waiter: those of waiters who left are still there. */
  function enqueue(lane: Lane): void {
    const { RECEIVED, QUEUED, RUNNING } = bottleneck.counts();
    if (RECEIVED + QUEUED + RUNNING < waiters.size)
      void bottleneck.schedule({ priority: priorityOf(lane) }, serveFirst);
  }

  async function serveFirst(): Promise<void> {
    const [waiter] = inOrder();
    const grant = waiter && claim(waiter.lane);
    if (!grant) {
      void bottleneck.incrementReservoir(1);
      if (waiter) enqueue(waiter.lane);
      return;
    }
    inFlight++;
    try {
      await waiter.serve(grant, placeOf(sentAt(concurrency, inFlight)));
    } finally {
      inFlight--;
      ask();
    }
  }

  /** A grant taken for a higher lane may come out of that lane's reserve: no lower lane may use it. */
  function claim(lane: Lane): Grant | undefined {
    const usable = grants.findIndex(each => rankOf(each.lane) >= rankOf(lane));
    if (usable >= 0) return grants.splice(usable, 1)[0]?.grant;
    returnUnneeded(0);
    ask();
    return undefined;
  }

  /** Returns grants at hand, so that no more are left than there are waiters and places, or `most`. */
  function returnUnneeded(most = grants.length): void {
    const needed = Math.min(most, waiters.size, concurrency.allowed - inFlight);
    const unused = grants.splice(Math.max(0, needed));
    if (unused.length === 0) return;
    void bottleneck.incrementReservoir(-unused.length);
    void release(unused.map(({ grant }) => grant));
  }

  function release(unused: readonly Grant[]): Promise<void> {
    const done = budget.release(unused).then(
      () => asleep?.waking.abort(),
      (error: unknown) => options.onReleaseError?.(error),
    );
    released = Promise.all([released, done]);
    return done;
  }

  /** The highest lane that lacks grants, and how many requests of it could be sent at once. */
  function shortage(): { lane: Lane; want: number } | undefined {
    const places = concurrency.allowed - inFlight - grants.length;
    const lacking = inOrder().slice(grants.length);
    const lane = lacking[0]?.lane;
    if (closed || places <= 0 || lane === undefined) return undefined;
    return { lane, want: Math.min(places, lacking.filter(each => each.lane === lane).length) };
  }

  /** Takes grants until no lane lacks any, one question at a time. */
  function ask(): void {
    if (asleep && shortage()?.lane !== asleep.lane) asleep.waking.abort();
    if (asking) return;
    asking = true;
    asked = takeGrants();
  }

  async function takeGrants(): Promise<void> {
    try {
      for (let lack = shortage(); lack; lack = shortage()) {
        const { lane } = lack;
        const { grants: taken, waitMs, paced } = await budget.take(lane, lack.want);
        if (taken.length > 0) {
          grants.push(...taken.map(grant => ({ lane, grant })));
          void bottleneck.incrementReservoir(taken.length);
          returnUnneeded();
        } else if (noWait && !paced && waitMs > SHORT_MS)
          refuse(inOrder().slice(grants.length), limitUsedUp(clock.now() + waitMs));
        else await sleep(lane, waitMs);
      }
    } catch (error) {
      refuse([...waiters], error);
    } finally {
      asking = false;
    }
  }

  async function sleep(lane: Lane, waitMs: number): Promise<void> {
    // A request of a higher lane may have arrived while the budget was asked.
    if (shortage()?.lane !== lane) return;
    options.onWait?.(lane, waitMs);
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

  function refuse(refused: readonly Waiter[], error: unknown): void {
    for (const waiter of refused) waiter.refuse(error);
  }

  const placeOf = (sent: Sent): Place => ({
    report(outcome) {
      const before = concurrency.allowed;
      concurrency = (outcome === 'served' ? afterAnswer : afterRefusal)(concurrency, sent);
      if (concurrency.allowed === before) return;
      bottleneck.updateSettings({ maxConcurrent: concurrency.allowed });
      returnUnneeded();
      options.onConcurrency?.(concurrency.allowed);
    },
  });

  return {
    release,
    schedule(lane, signal, send) {
      return new Promise((resolve, reject) => {
        if (closed) return reject(closed);
        if (signal?.aborted) return reject(stopped(signal));
        const leave = () => {
          signal?.removeEventListener('abort', onAbort);
          waiters.delete(waiter);
        };
        const onAbort = () => waiter.refuse(stopped(signal));
        const waiter: Waiter = {
          lane,
          serve(grant, place) {
            leave();
            return send(grant, place).then(resolve, reject);
          },
          refuse(error) {
            leave();
            reject(error);
            returnUnneeded();
            ask();
          },
        };
        waiters.add(waiter);
        signal?.addEventListener('abort', onAbort, { once: true });
        enqueue(lane);
        ask();
      });
    },
    async close() {
      closed ??= new SluiceError('stopped', 'The client was closed.');
      refuse([...waiters], closed);
      // Resolves when no job runs. A second call would reject.
      closing ??= bottleneck.stop();
      await Promise.all([closing, asked]);
      await released;
    },
  };
}

/** Bottleneck's priorities go from 0 to 9; a lower number is served first. */
const priorityOf = (lane: Lane): number => 1 + 4 * rankOf(lane);

function limitUsedUp(untilMs: number): SluiceError {
  const until = new Date(untilMs).toISOString().slice(0, 19).replace('T', ' ');
  return new SluiceError('quota', `The request limit is used up until ${until} UTC.`, {
    next: 'Run the same command again after that, or without --no-wait. Everything read so far is kept.',
  });
}
