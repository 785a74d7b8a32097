import pLimit from 'p-limit';
import { MINUTE, SECOND } from '../../clock.ts';
import { explain, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';

/** While others wait for a turn, a source gives up its own after this time and queues again. */
const TURN_MS = MINUTE;
/** A turn is told that its source was woken at most so often. */
const TELL_MS = 100;

/** The time in which a source may be read. */
export interface Turn {
  /** Aborted once it has lasted long enough, and others wait for it. */
  readonly signal: AbortSignal;
  isAwaited(): boolean;
  /** Calls the listener, in place of any before, when the source is woken during the turn. */
  onWoken(listener: () => void): void;
}

/** How a source's turn ended. */
export type TurnEnd =
  /** All that was due was read. `againMs`: after what time something will be due, if known. */
  | { readonly how: 'done'; readonly againMs: number | null }
  /** Another process reads the source. */
  | { readonly how: 'elsewhere' }
  /** Something may be due at once: others waited for the turn, or the source was woken meanwhile. */
  | { readonly how: 'unfinished' }
  | { readonly how: 'failed' };

interface Awake {
  begun: boolean;
  /** The source was woken again since its turn began. */
  again: boolean;
  /** Tells its turn. */
  tell: () => void;
  /** Another process has read the source since it was woken. */
  dropped: boolean;
  done: Promise<void>;
}

export interface TurnOptions {
  /** Sources awake at the same time; the others wait for their turn, oldest wake-up first. */
  readonly most: number;
  /**
   * Finds out what is due and whether another process reads the source already, and reads it. Never called twice at the same time for
   * one source. Resolves with the milliseconds after which to call again, if known, or with `elsewhere`. Once the signal of `turn` aborts, other
   * sources wait: it should finish, and is called again in its next turn.
   */
  readonly wake: (source: string, turn: Turn) => Promise<number | 'elsewhere' | null>;
  /** How long a source may keep others waiting. Default: a minute. */
  readonly turnMs?: number;
  readonly log: Log;
}

/** Hands out at most `most` turns at a time, at most one for each source, in the order of the wake-ups. */
export function createReadingTurns(
  { most, wake, turnMs = TURN_MS, log }: TurnOptions,
  onEnd: (source: string, ended: TurnEnd) => void,
) {
  const inTurn = pLimit(most);
  const turns = new Map<string, Awake>();
  let stopped = false;

  async function take(source: string, self: Awake): Promise<TurnEnd> {
    const turn = startTurn(turnMs, () => inTurn.pendingCount > 0);
    self.tell = turn.tell;
    try {
      const again = await wake(source, turn);
      if (again === 'elsewhere') return { how: 'elsewhere' };
      return turn.signal.aborted ? { how: 'unfinished' } : { how: 'done', againMs: again };
    } catch (error) {
      const kind = error instanceof SluiceError ? error.kind : 'bug';
      log.error({ source, kind, ...(kind === 'bug' ? { err: error } : {}) }, explain(error));
      return { how: 'failed' };
    } finally {
      turn.end();
    }
  }

  async function takeTurns(source: string, self: Awake): Promise<void> {
    let ended: TurnEnd = { how: 'unfinished' };
    self.begun = true;
    while (!stopped && !self.dropped) {
      self.again = false;
      ended = await take(source, self);
      if (!self.again || inTurn.pendingCount > 0) break;
    }
    turns.delete(source);
    if (self.dropped) return;
    // A process that stops hands its sources over, so that the others need not wait for the next minute.
    onEnd(source, stopped || self.again ? { how: 'unfinished' } : ended);
  }

  return {
    /** Gives `source` a turn as soon as one is free, unless it already has or awaits one. */
    wakeUp(source: string): void {
      const current = turns.get(source);
      if (current) {
        current.again = true;
        current.dropped = false;
        current.tell();
      } else if (!stopped) {
        const done = Promise.resolve();
        const self: Awake = { begun: false, again: false, tell: () => undefined, dropped: false, done };
        turns.set(source, self);
        self.done = inTurn(() => takeTurns(source, self));
      }
    },
    /** Another process has read the source: a turn that has not begun is not needed. False if one has. */
    drop(source: string): boolean {
      const current = turns.get(source);
      if (current && !current.begun) current.dropped = true;
      return !current?.begun;
    },
    /** No new turn begins from now on. */
    stop() {
      stopped = true;
    },
    /** Resolves when no turn is left. */
    ended: () => Promise.all([...turns.values()].map(turn => turn.done)),
  };
}

/** A signal that aborts once the turn has lasted `turnMs` and others wait for it. */
function startTurn(turnMs: number, isAwaited: () => boolean): Turn & { tell: () => void; end(): void } {
  const turn = new AbortController();
  let onWoken = () => {};
  let telling: NodeJS.Timeout | undefined;
  let toldAt = Number.NEGATIVE_INFINITY;
  const startedAt = performance.now();
  const timer = setInterval(
    () => {
      if (!isAwaited() || performance.now() - startedAt < turnMs) return;
      turn.abort(new SluiceError('stopped', 'Other sources wait for their turn; this one continues in its next.'));
    },
    Math.min(turnMs, SECOND),
  );
  return {
    signal: turn.signal,
    isAwaited,
    onWoken(listener) {
      onWoken = listener;
    },
    tell() {
      const inMs = Math.max(toldAt + TELL_MS - performance.now(), 0);
      telling ??= setTimeout(() => {
        telling = undefined;
        toldAt = performance.now();
        onWoken();
      }, inMs);
    },
    end() {
      clearInterval(timer);
      clearTimeout(telling);
    },
  };
}
