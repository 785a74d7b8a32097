import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database, Queryable } from '../../warehouse/database/database.ts';
import { countConnections } from '../../warehouse/reports/server.ts';
import { createReadingTurns, type TurnEnd, type TurnOptions } from './reading-turns.ts';

const AGAIN_MS = MINUTE;
/** Whoever reads a source may be killed at any moment. */
const TAKE_OVER_MS = 10 * SECOND;
const RECONNECT_MS = 5 * SECOND;
/** So long others are believed to read a source: whoever may log in to the database may say so. */
const ELSEWHERE_MS = 5 * MINUTE;
const CHANNEL = 'sluice_sources';
/** Of the connection by which each service listens. */
const NAME = 'sluice wake-ups';

/** What processes tell each other about a source: that something may be due, or that `by` has just read it. */
interface Notice {
  readonly is: 'due' | 'read';
  readonly source: string;
  /** The process that has a turn for the source itself. */
  readonly by?: string;
}

/** Wakes the services that read `source` at once. Never rejects: without the notice they read it within a minute. */
export const wakeUp = (database: Queryable, source: string): Promise<void> => notify(database, { is: 'due', source });

/** Services that are awake on this database, this one among them. */
export const countServices = ({ kysely }: Database): Promise<number> => countConnections(kysely, [NAME]);

/** Postgres refuses a notice while its queue is full, which a session that listens and never reads can bring about. */
async function notify(database: Queryable, notice: Notice): Promise<void> {
  await database.query('select pg_notify($1, $2)', [CHANNEL, JSON.stringify(notice)]).catch(() => undefined);
}

/**
 * Wakes each source whenever `wakeUp` asks for it, a minute after it was last read, in this process or another, and ten seconds after another
 * was found reading it. Notices may be lost or repeated: what is due is in tables.
 */
export function startWakeUps(
  options: TurnOptions & {
    readonly database: Database;
    readonly sources: readonly string[];
    /** The longest time without a turn here, however often others say that they have read a source. Default: five minutes. */
    readonly elsewhereMs?: number;
    /** When a source that another process reads is tried again. Default: ten seconds. */
    readonly takeOverMs?: number;
  },
): {
  /** Resolves when no source is awake any more. */
  stop(): Promise<void>;
} {
  const { database, sources, elsewhereMs = ELSEWHERE_MS, takeOverMs = TAKE_OVER_MS, log } = options;
  const by = randomUUID();
  const turnEndedAt = new Map(sources.map(source => [source, performance.now()]));
  const stopping = new AbortController();
  const timers = new Map<string, NodeJS.Timeout>();
  const notifying = new Set<Promise<void>>();
  const turns = createReadingTurns(options, onEnd);

  function wake(source: string): void {
    clearTimeout(timers.get(source));
    turns.wakeUp(source);
  }

  function wakeIn(source: string, ms: number): void {
    clearTimeout(timers.get(source));
    timers.set(
      source,
      setTimeout(() => wake(source), Math.min(ms, AGAIN_MS)),
    );
  }

  function pauseAfter(ended: TurnEnd): number {
    if (ended.how === 'elsewhere') return takeOverMs;
    return (ended.how === 'done' ? ended.againMs : null) ?? AGAIN_MS;
  }

  function onEnd(source: string, ended: TurnEnd): void {
    turnEndedAt.set(source, performance.now());
    if (ended.how === 'unfinished') wake(source);
    else if (!stopping.signal.aborted) wakeIn(source, pauseAfter(ended));
    // A process that has not read a source does not keep the others from trying.
    if (ended.how === 'failed' || ended.how === 'elsewhere') return;
    const notified = notify(database, { is: ended.how === 'done' ? 'read' : 'due', source, by }).finally(() =>
      notifying.delete(notified),
    );
    notifying.add(notified);
  }

  function onNotice({ is, source, by: sender }: Notice): void {
    const endedAt = turnEndedAt.get(source);
    if (endedAt === undefined || sender === by || stopping.signal.aborted) return;
    if (is === 'due') wake(source);
    else if (performance.now() - endedAt < elsewhereMs && turns.drop(source)) wakeIn(source, AGAIN_MS);
  }

  // Unless the connection is there sooner.
  for (const source of sources) wakeIn(source, RECONNECT_MS);
  const listening = keepListening(database, log, stopping.signal, {
    // Whatever happened until now may have been missed.
    onListening: () => sources.forEach(wake),
    onNotice,
  });
  return {
    async stop() {
      stopping.abort();
      turns.stop();
      for (const timer of timers.values()) clearTimeout(timer);
      await turns.ended();
      await Promise.all(notifying);
      await listening;
    },
  };
}

interface Listener {
  readonly onListening: () => void;
  readonly onNotice: (notice: Notice) => void;
}

/** Listens until `stopping` aborts; connects again whenever the connection drops. */
async function keepListening(
  database: Database,
  log: Log,
  stopping: AbortSignal,
  { onListening, onNotice }: Listener,
): Promise<void> {
  while (!stopping.aborted) {
    try {
      const client = await database.connect(NAME);
      const dropped = new Promise<void>(resolve => client.once('end', resolve));
      client.on('notification', ({ payload }) => {
        const notice = parseNotice(payload);
        if (notice) onNotice(notice);
      });
      const stop = () => void client.end().catch(() => undefined);
      stopping.addEventListener('abort', stop, { once: true });
      if (stopping.aborted) stop();
      await client.query(`set idle_session_timeout = 0; listen ${CHANNEL}`).then(onListening, stop);
      await dropped;
      stopping.removeEventListener('abort', stop);
      if (!stopping.aborted) log.warn('the connection that hears of due sources dropped; connecting again');
    } catch (error) {
      // At debug level: an outage may last for hours, and the readers log it.
      log.debug({ reason: explain(error) }, 'could not listen for due sources; trying again');
    }
    await delay(RECONNECT_MS, undefined, { signal: stopping }).catch(() => undefined);
  }
}

/** Any login of the database may notify on any channel. */
function parseNotice(payload: string | undefined): Notice | undefined {
  try {
    const notice = JSON.parse(payload ?? '') as Notice;
    return notice.is === 'due' || notice.is === 'read' ? notice : undefined;
  } catch {
    return undefined;
  }
}
