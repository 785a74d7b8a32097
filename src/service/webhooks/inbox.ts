import { type Clock, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { leaveHints } from '../../warehouse/ledgers/hints.ts';

interface Hint {
  readonly source: string;
  readonly resource: string;
  readonly slice: string;
}

/** Hints are written together, at most this often: a flood costs the database a few statements a second. */
const PAUSE_MS = SECOND / 4;
const RETRY_MS = 5 * SECOND;
/** Different hints kept in memory. Beyond it they are dropped: the next slots find what they meant. */
const MOST_WAITING = 1000;

/** Takes hints without waiting for the database, and writes them down soon. What a crash loses here the next slots find. */
export interface Inbox {
  add(hints: readonly Hint[]): void;
  /** Writes what is left, and resolves when that is done or cannot be. */
  close(): Promise<void>;
}

export function createInbox(options: {
  database: Database;
  /** Called with a source once hints of it are written. */
  onHints: (source: string) => Promise<void>;
  clock: Clock;
  log: Log;
}): Inbox {
  const { database, onHints, clock, log } = options;
  const waiting = new Map<string, Hint>();
  const closing = new AbortController();
  let writing: Promise<void> | undefined;

  const keep = (hint: Hint) => {
    const key = JSON.stringify([hint.source, hint.resource, hint.slice]);
    if (waiting.size < MOST_WAITING) waiting.set(key, hint);
  };

  async function write(): Promise<void> {
    while (waiting.size > 0) {
      const batch = [...waiting.values()];
      waiting.clear();
      let pauseMs = PAUSE_MS;
      try {
        await leaveHints(database.kysely, batch);
        for (const source of new Set(batch.map(hint => hint.source))) await onHints(source);
      } catch (error) {
        log.warn({ hints: batch.length }, `webhooks could not be noted: ${explain(error)}`);
        if (closing.signal.aborted) return;
        for (const hint of batch) keep(hint);
        pauseMs = RETRY_MS;
      }
      await clock.sleep(pauseMs, closing.signal).catch(() => undefined);
    }
  }

  return {
    add(hints) {
      for (const hint of hints) keep(hint);
      writing ??= write().finally(() => {
        writing = undefined;
      });
    },
    async close() {
      closing.abort();
      await writing;
    },
  };
}
