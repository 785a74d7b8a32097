import Bottleneck from 'bottleneck';
import { type Clock, MINUTE, SECOND, stopped } from '../clock.ts';
import { SluiceError } from '../errors.ts';
import { type Budget, type Grant, LANES, type Lane } from './budget.ts';

export interface LimiterOptions {
  budget: Budget;
  concurrency: number;
  clock: Clock;
  noWait?: boolean;
  onWait?: (lane: Lane, waitMs: number) => void;
  /** Told when the ledger could not take grants back; they then count until their window ends. */
  onReleaseError?: (error: unknown) => void;
}

export interface Limiter {
  /** Runs `send` as soon as its lane has a grant and a free place. The grant is then the caller's to settle or release. */
  schedule<T>(lane: Lane, signal: AbortSignal | undefined, send: (grant: Grant) => Promise<T>): Promise<T>;
  /** Gives grants back that were never sent. */
  release(grants: readonly Grant[]): Promise<void>;
  /** Refuses what waits, releases unused grants, and resolves when nothing is in flight. */
  close(): Promise<void>;
}

const PRIORITY = { live: 1, backfill: 5, verify: 9 } as const;

/** With `noWait`, a wait up to this long is waited, as the pace of a lower lane is however long. */
const SHORT_MS = 5 * SECOND;
/** The ledger is asked again at least this often: another process may have given grants back, or the limit been raised. */
const LONGEST_SLEEP_MS = MINUTE;

interface Waiter {
  readonly lane: Lane;
  readonly start: (grant: Grant) => Promise<void>;
  readonly refuse: (error: unknown) => void;
}

/**
 * Lanes and concurrency over a budget. One pump takes grants for the highest lane that lacks one, only as many as can be sent
 * at once, and puts them into Bottleneck's reservoir; each unit of it pays for one turn, and a turn serves the first waiter
 * of the highest lane. Turns are not bound to waiters, so one that leaves costs nothing, and a live request can overtake
 * jobs that Bottleneck takes in at one per timer tick.
 *
 * Invariant: units in the reservoir + turns that have begun and not yet chosen = `grants.length`.
 */
export function createLimiter(options: LimiterOptions): Limiter {
  const { budget, concurrency, clock, noWait = false, onWait } = options;
  // No refresh options and never updateSettings(): its refresh is a fixed window, forgets at restart, and dies on updates.
  const bottleneck = new Bottleneck({ maxConcurrent: concurrency, reservoir: 0 });
  const waiters: Record<Lane, Set<Waiter>> = { live: new Set(), backfill: new Set(), verify: new Set() };
  const busy = new Set<Promise<unknown>>();
  const grants: { lane: Lane; grant: Grant }[] = [];
  let queuedTurns = 0;
  let running = 0;
  let pumping = false;
  let asleep: { lane: Lane; waking: AbortController } | undefined;
  let closed: SluiceError | undefined;

  function waiting(): Waiter[] {
    return LANES.flatMap(lane => [...waiters[lane]]);
  }

  /** The highest lane whose waiters outnumber the grants in hand, and how many could be sent at once. */
  function lacking(): { lane: Lane; want: number } | undefined {
    const places = concurrency - running - grants.length;
    if (closed || places <= 0) return undefined;
    let inHand = grants.length;
    for (const lane of LANES) {
      const lacks = waiters[lane].size - inHand;
      if (lacks > 0) return { lane, want: Math.min(lacks, places) };
      inHand = -lacks;
    }
    return undefined;
  }

  function keepGoing(): void {
    const count = LANES.reduce((sum, lane) => sum + waiters[lane].size, 0);
    while (queuedTurns < count) queueTurn();
    if (asleep && lacking()?.lane !== asleep.lane) asleep.waking.abort();
    if (!pumping) void track(pump());
  }

  function queueTurn(): void {
    queuedTurns++;
    const lane = LANES.find(name => waiters[name].size > 0) ?? 'verify';
    void bottleneck.schedule({ priority: PRIORITY[lane] }, turn);
  }

  async function turn(): Promise<void> {
    queuedTurns--;
    const lane = LANES.find(name => waiters[name].size > 0);
    const [waiter] = lane ? waiters[lane] : [];
    // A grant taken for a higher lane may come out of that lane's reserve; a lower one must not use it.
    const usable = waiter ? grants.findIndex(({ lane: takenFor }) => PRIORITY[takenFor] >= PRIORITY[waiter.lane]) : -1;
    const [taken] = grants.splice(Math.max(usable, 0), 1);
    if (!waiter || !taken || usable < 0) {
      if (taken) void release([taken.grant]);
      keepGoing();
      return;
    }
    waiters[waiter.lane].delete(waiter);
    running++;
    try {
      await track(waiter.start(taken.grant));
    } finally {
      running--;
      keepGoing();
    }
  }

  async function pump(): Promise<void> {
    pumping = true;
    try {
      for (let ask = lacking(); ask; ask = lacking()) {
        const { grants: taken, waitMs, paced } = await budget.take(ask.lane, ask.want);
        if (closed) void release(taken);
        else if (taken.length > 0) admit(ask.lane, taken);
        else if (noWait && !paced && waitMs > SHORT_MS) refuseForQuota(waitMs);
        else await sleep(ask.lane, waitMs);
      }
    } catch (error) {
      for (const waiter of waiting()) waiter.refuse(error);
    } finally {
      pumping = false;
    }
  }

  function admit(lane: Lane, taken: readonly Grant[]): void {
    grants.push(...taken.map(grant => ({ lane, grant })));
    void bottleneck.incrementReservoir(taken.length);
  }

  async function sleep(lane: Lane, waitMs: number): Promise<void> {
    onWait?.(lane, waitMs);
    // A higher lane may have come while the ledger was asked.
    if (lacking()?.lane !== lane) return;
    const waking = new AbortController();
    asleep = { lane, waking };
    try {
      await clock.sleep(Math.min(Math.max(waitMs, 1), LONGEST_SLEEP_MS), waking.signal);
    } catch {
      // Woken early: look again at who lacks a grant.
    } finally {
      asleep = undefined;
    }
  }

  function refuseForQuota(waitMs: number): void {
    const until = new Date(clock.now() + waitMs).toISOString().slice(0, 19).replace('T', ' ');
    const error = new SluiceError('quota', `The request limit is used up until ${until} UTC.`, {
      next: 'Run the same command again then, or without --no-wait; what was read is kept.',
    });
    for (const waiter of waiting().slice(grants.length)) waiter.refuse(error);
  }

  async function release(unused: readonly Grant[]): Promise<void> {
    if (unused.length === 0) return;
    try {
      await track(budget.release(unused));
      asleep?.waking.abort();
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
          waiters[lane].delete(waiter);
        };
        const onAbort = () => waiter.refuse(stopped(signal));
        const waiter: Waiter = {
          lane,
          async start(grant) {
            leave();
            try {
              resolve(await send(grant));
            } catch (error) {
              reject(error);
            }
          },
          refuse(error) {
            leave();
            reject(error);
            keepGoing();
          },
        };
        waiters[lane].add(waiter);
        signal?.addEventListener('abort', onAbort, { once: true });
        keepGoing();
      });
    },
    async close() {
      closed ??= new SluiceError('stopped', 'The client was closed.');
      for (const waiter of waiting()) waiter.refuse(closed);
      asleep?.waking.abort();
      void release(grants.splice(0).map(({ grant }) => grant));
      while (busy.size > 0) await Promise.allSettled(busy);
      await bottleneck.disconnect(false);
    },
  };
}
