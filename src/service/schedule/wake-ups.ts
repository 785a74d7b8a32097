import type { Runner } from 'graphile-worker';
import { MINUTE, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { createReadingTurns, type ReadingTurns, type Turn } from './reading-turns.ts';
import { addWakeUp, runQueue, wakeUp, withQueueLock } from './wake-up-queue.ts';

const AGAIN_MS = MINUTE;
const RESTART_MS = 5 * SECOND;
/** A source that the queue has not woken for so long, as may happen after a database outage, is woken by its own process. */
const FORGOTTEN_MS = 2 * MINUTE;

interface WakeUpOptions {
  readonly database: Database;
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

/** Wakes each source once a minute and whenever `wakeUp` asks for it, in one of the processes that serve it. */
export async function startWakeUps(options: WakeUpOptions): Promise<{
  /** Resolves when no source is awake any more. */
  stop(): Promise<void>;
}> {
  const { database, sources, most, wake, turnMs, log } = options;
  const queueAgain = (source: string, at: Date | null) =>
    at === null ? wakeUp(database, source) : addWakeUp(database, source, at);
  const turns = createReadingTurns({ sources, most, wake, turnMs, queueAgain, log });
  const onWakeUp = (source: string) => turns.onWakeUp(source);
  const start = () => runQueue({ database, sources, most, onWakeUp, log });
  const first = await withQueueLock(database, start);
  const stopping = new AbortController();
  let adding: Promise<void> = Promise.resolve();
  const add = () => {
    adding = adding.then(() => wakeAll(options, turns, stopping.signal));
  };
  add();
  // The database is back: what was interrupted continues at once.
  const queue = keepRunning(first, { start, onRestart: add, log });
  const timer = setInterval(add, AGAIN_MS);
  return {
    async stop() {
      stopping.abort();
      turns.stop();
      clearInterval(timer);
      // First, so that it takes no more wake-ups from other processes; it ends once its jobs have.
      const stopped = queue.stop();
      await adding;
      await turns.ended();
      await stopped;
    },
  };
}

/** Queues a wake-up for every source, and wakes those that the queue has forgotten. */
async function wakeAll(
  { database, sources, log }: WakeUpOptions,
  turns: ReadingTurns,
  stopping: AbortSignal,
): Promise<void> {
  for (const source of sources) {
    // With every turn taken, the queue is long rather than forgetful.
    if (stopping.aborted || turns.isFull) break;
    if (turns.isForgotten(source, FORGOTTEN_MS)) void turns.onWakeUp(source);
  }
  try {
    // One at a time: all at once would take the connections from the readers.
    for (const source of sources) if (!stopping.aborted) await addWakeUp(database, source, null);
  } catch (error) {
    log.warn({ reason: explain(error) }, 'could not queue wake-ups; retrying within a minute');
  }
}

/** Starts the queue's runner again whenever it ends, as it does when the database is away for longer than it retries. */
function keepRunning(
  first: Runner,
  { start, onRestart, log }: { start: () => Promise<Runner>; onRestart: () => void; log: Log },
): { stop(): Promise<void> } {
  let runner = first;
  let stopped = false;
  const watch = async () => {
    while (!stopped) {
      await runner.promise.catch(error => log.warn({ reason: explain(error) }, 'wake-up queue ended; restarting it'));
      for (let started = false; !started && !stopped; ) {
        await new Promise(resolve => setTimeout(resolve, RESTART_MS));
        if (stopped) return;
        try {
          runner = await start();
          started = true;
          onRestart();
        } catch (error) {
          // At debug level: an outage may last for hours, and has been logged once.
          log.debug({ reason: explain(error) }, 'could not restart the wake-up queue');
        }
      }
      if (stopped) await runner.stop().catch(() => undefined);
    }
  };
  const watching = watch();
  return {
    async stop() {
      stopped = true;
      await runner.stop().catch(() => undefined);
      await watching;
    },
  };
}
