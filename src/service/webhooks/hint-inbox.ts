import { type Clock, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { leaveHints } from '../../warehouse/ledgers/hints.ts';
import { sharedRun } from '../shared-run.ts';
import type { ChangeHint } from './change-hints.ts';

type SourceHint = ChangeHint & { readonly source: string };

/** Hints are written together, at most this often: a flood costs the database a few statements a second. */
const PAUSE_MS = SECOND / 4;
const RETRY_MS = 5 * SECOND;
/** Distinct hints kept in memory. More are dropped: the next slots find the changes they meant. */
const MOST_WAITING = 1000;

/** Accepts change hints without waiting for the database, and writes them soon. The next slots find what a crash loses here. */
export interface HintInbox {
  add(hints: readonly SourceHint[]): void;
  /** Writes the remaining hints; resolves when they are written, or cannot be. */
  close(): Promise<void>;
}

export function createHintInbox(options: {
  database: Database;
  /** Called with a source once its hints are written. */
  onHints: (source: string) => Promise<void>;
  clock: Clock;
  log: Log;
}): HintInbox {
  const { database, onHints, clock, log } = options;
  const waiting = new Map<string, SourceHint>();
  const closing = new AbortController();

  const keep = (hint: SourceHint) => {
    const key = JSON.stringify([hint.source, hint.resource, hint.slice]);
    if (waiting.size < MOST_WAITING) waiting.set(key, hint);
  };

  const write = sharedRun(async () => {
    while (waiting.size > 0) {
      const batch = [...waiting.values()];
      waiting.clear();
      let pauseMs = PAUSE_MS;
      try {
        await leaveHints(database.kysely, batch);
        for (const source of new Set(batch.map(hint => hint.source))) await onHints(source);
      } catch (error) {
        log.warn({ hints: batch.length }, `could not record change hints from webhooks: ${explain(error)}`);
        if (closing.signal.aborted) return;
        for (const hint of batch) keep(hint);
        pauseMs = RETRY_MS;
      }
      await clock.sleep(pauseMs, closing.signal).catch(() => undefined);
    }
  });

  return {
    add(hints) {
      for (const hint of hints) keep(hint);
      void write();
    },
    async close() {
      closing.abort();
      await write();
    },
  };
}
