import Bottleneck from 'bottleneck';
import { type Clock, stopped } from '../clock.ts';
import { SluiceError } from '../errors.ts';
import { type Budget, type Grant, type Lane, rankOf } from './budget.ts';
import { afterAnswer, afterRefusal, type Sent, sentAt, startConcurrency } from './concurrency.ts';
import { createGrantPump } from './grant-pump.ts';
import { createLaneQueue, type Waiter } from './lane-queue.ts';

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

interface Permit {
  readonly grant: Grant;
  readonly place: Place;
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

/**
 * Lanes and concurrency over a budget. The pump takes grants for the highest lane that lacks one, only as many as can be sent at once,
 * and each adds a unit to Bottleneck's reservoir. A unit pays for one turn, and a turn serves the first waiter of the highest lane. Turns
 * are not bound to waiters, so a waiter that leaves costs nothing, and a live request can overtake jobs that Bottleneck starts at one per
 * timer tick.
 *
 * Invariant: units in the reservoir + turns that have begun and not yet chosen = `grants.length`. All functions below keep it over the
 * same few variables, which is why they share one closure of more than 60 lines.
 */
export function createLimiter(options: LimiterOptions): Limiter {
  const { budget, clock, noWait = false } = options;
  // No refresh options and never updateSettings(): its refresh is a fixed window, forgets at restart, and dies on updates.
  const bottleneck = new Bottleneck({ maxConcurrent: options.concurrency, reservoir: 0 });
  let concurrency = startConcurrency(options.concurrency, options.knownConcurrency);
  const queue = createLaneQueue<Permit>();
  const busy = new Set<Promise<unknown>>();
  const grants: { lane: Lane; grant: Grant }[] = [];
  let queuedTurns = 0;
  let running = 0;
  let closed: SluiceError | undefined;

  const pump = createGrantPump({
    budget,
    clock,
    noWait,
    shortage,
    onGrants(lane, taken) {
      if (closed) return void release(taken);
      grants.push(...taken.map(grant => ({ lane, grant })));
      void bottleneck.incrementReservoir(taken.length);
    },
    onWait(lane, waitMs) {
      if (!closed) options.onWait?.(lane, waitMs);
    },
    onRefused(waitMs) {
      const error = limitUsedUp(clock.now() + waitMs);
      for (const waiter of queue.all().slice(grants.length)) waiter.refuse(error);
    },
    onError(error) {
      for (const waiter of queue.all()) waiter.refuse(error);
    },
  });

  function shortage(): { lane: Lane; want: number } | undefined {
    const places = concurrency.allowed - running - grants.length;
    if (closed || places <= 0) return undefined;
    const lacking = queue.beyond(grants.length);
    return lacking && { lane: lacking.lane, want: Math.min(lacking.count, places) };
  }

  function continueServing(): void {
    while (queuedTurns < queue.size) queueTurn();
    if (pump.sleepsFor !== undefined && shortage()?.lane !== pump.sleepsFor) pump.wake();
    void track(pump.run());
  }

  function queueTurn(): void {
    queuedTurns++;
    void bottleneck.schedule({ priority: priorityOf(queue.first()?.lane ?? 'verify') }, turn);
  }

  async function turn(): Promise<void> {
    queuedTurns--;
    const waiter = queue.first();
    // A grant taken for a higher lane may come out of that lane's reserve; a lower lane must not use it.
    // The number of places may have been lowered since the grant was taken.
    const isFree = running < concurrency.allowed;
    const usable = waiter && isFree ? grants.findIndex(({ lane }) => rankOf(lane) >= rankOf(waiter.lane)) : -1;
    const [taken] = grants.splice(Math.max(usable, 0), 1);
    if (!waiter || !taken || usable < 0) {
      if (taken) void release([taken.grant]);
      continueServing();
      return;
    }
    queue.remove(waiter);
    running++;
    try {
      await track(waiter.start({ grant: taken.grant, place: placeOf(sentAt(concurrency, running)) }));
    } finally {
      running--;
      continueServing();
    }
  }

  function placeOf(sent: Sent): Place {
    return {
      report(outcome) {
        const before = concurrency.allowed;
        concurrency = (outcome === 'served' ? afterAnswer : afterRefusal)(concurrency, sent);
        if (concurrency.allowed !== before) options.onConcurrency?.(concurrency.allowed);
      },
    };
  }

  async function release(unused: readonly Grant[]): Promise<void> {
    if (unused.length === 0) return;
    try {
      await track(budget.release(unused));
      pump.wake();
    } catch (error) {
      options.onReleaseError?.(error);
    }
  }

  async function track<T>(work: Promise<T>): Promise<T> {
    busy.add(work);
    try {
      return await work;
    } finally {
      busy.delete(work);
    }
  }

  return {
    release,
    schedule(lane, signal, send) {
      return new Promise((resolve, reject) => {
        if (closed) return reject(closed);
        if (signal?.aborted) return reject(stopped(signal));
        const leave = () => {
          signal?.removeEventListener('abort', onAbort);
          queue.remove(waiter);
        };
        const onAbort = () => waiter.refuse(stopped(signal));
        const waiter: Waiter<Permit> = {
          lane,
          async start({ grant, place }) {
            leave();
            try {
              resolve(await send(grant, place));
            } catch (error) {
              reject(error);
            }
          },
          refuse(error) {
            leave();
            reject(error);
            continueServing();
          },
        };
        queue.add(waiter);
        signal?.addEventListener('abort', onAbort, { once: true });
        continueServing();
      });
    },
    async close() {
      closed ??= new SluiceError('stopped', 'The client was closed.');
      for (const waiter of queue.all()) waiter.refuse(closed);
      pump.wake();
      void release(grants.splice(0).map(({ grant }) => grant));
      while (busy.size > 0) await Promise.allSettled(busy);
      await bottleneck.disconnect(false);
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
