import pLimit from 'p-limit';
import { MINUTE, SECOND } from '../../clock.ts';
import { explain, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';

/** While others wait for a turn, a source gives up its own after this time and queues again. */
const TURN_MS = MINUTE;

/** The time in which a source may be read. */
export interface Turn {
  /** Aborted once it has lasted long enough, and others wait for it. */
  readonly signal: AbortSignal;
  isAwaited(): boolean;
}

interface Awake {
  /** The source was woken again since its turn began. */
  again: boolean;
  done: Promise<void>;
}

export interface TurnOptions {
  readonly sources: readonly string[];
  /** Sources awake at the same time; the others wait for their turn, oldest wake-up first. */
  readonly most: number;
  /**
   * Finds out what is due and whether another process reads the source already, and reads it. Never called twice at the same time for
   * one source. Resolves with when to call again, if known. Once the signal of `turn` aborts, other sources wait: it should finish, and is
   * called again in its next turn.
   */
  readonly wake: (source: string, turn: Turn) => Promise<Date | null>;
  /** How long a source may keep others waiting. Default: a minute. */
  readonly turnMs?: number;
  readonly log: Log;
}

/**
 * Hands out at most `most` turns at a time, at most one for each source, in the order of the wake-ups. `queueAgain` queues a source's next
 * wake-up, at a time or, with null, behind those already due.
 */
export function createReadingTurns(
  { sources, most, wake, turnMs = TURN_MS, log }: TurnOptions,
  queueAgain: (source: string, at: Date | null) => Promise<void>,
) {
  const inTurn = pLimit(most);
  const turns = new Map<string, Awake>();
  const wokenAt = new Map(sources.map(source => [source, performance.now()]));
  let stopped = false;

  async function take(source: string, self: Awake): Promise<void> {
    do {
      self.again = false;
      const turn = startTurn(turnMs, () => inTurn.pendingCount > 0);
      try {
        const at = stopped ? null : await wake(source, turn);
        // A process that stops hands its sources over, so that the others need not wait for the next minute.
        const continues = stopped || turn.signal.aborted || (self.again && inTurn.pendingCount > 0);
        if (at || continues) await queueAgain(source, continues ? null : at);
      } catch (error) {
        // Retries by the queue would come later and later; the next wake-up comes within a minute.
        const kind = error instanceof SluiceError ? error.kind : 'bug';
        log.error({ source, kind, ...(kind === 'bug' ? { err: error } : {}) }, explain(error));
      } finally {
        turn.end();
      }
    } while (self.again && !stopped && inTurn.pendingCount === 0);
    turns.delete(source);
    // Woken while its next wake-up was being queued, perhaps for a later time.
    if (self.again) await queueAgain(source, null).catch(error => log.error({ source }, explain(error)));
  }

  return {
    /** Gives `source` a turn as soon as one is free; resolves when it ended, or at once if the source already has or awaits one. */
    async onWakeUp(source: string): Promise<void> {
      wokenAt.set(source, performance.now());
      const current = turns.get(source);
      if (current) {
        current.again = true;
        return;
      }
      const self = { again: false, done: Promise.resolve() };
      turns.set(source, self);
      self.done = inTurn(() => take(source, self));
      await self.done;
    },
    /** As many sources as allowed have or await a turn. */
    get isFull() {
      return turns.size >= most;
    },
    isForgotten: (source: string, forMs: number) => performance.now() - (wokenAt.get(source) ?? 0) > forMs,
    /** No new turn begins from now on. */
    stop() {
      stopped = true;
    },
    /** Resolves when no turn is left. */
    ended: () => Promise.all([...turns.values()].map(turn => turn.done)),
  };
}

export type ReadingTurns = ReturnType<typeof createReadingTurns>;

/** A signal that aborts once the turn has lasted `turnMs` and others wait for it. */
function startTurn(turnMs: number, isAwaited: () => boolean): Turn & { end(): void } {
  const turn = new AbortController();
  const startedAt = performance.now();
  const timer = setInterval(
    () => {
      if (!isAwaited() || performance.now() - startedAt < turnMs) return;
      turn.abort(new SluiceError('stopped', 'Other sources wait for their turn; this one continues in its next.'));
    },
    Math.min(turnMs, SECOND),
  );
  return { signal: turn.signal, isAwaited, end: () => clearInterval(timer) };
}
