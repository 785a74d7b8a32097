import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { type Clock, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { readStateMark } from '../../warehouse/reports/source-state.ts';

/** `/live`: server-sent events, one `change` whenever an open page should load again. */
export const liveRoutes = (live: LiveUpdates): Hono =>
  new Hono().get('/live', c => {
    let send: () => unknown = () => undefined;
    let end: () => void = () => undefined;
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    const stop = live.listen({ onChange: () => void send(), onEnd: () => end() });
    if (stop === null) return c.text('Too many pages are open.\n', 503);
    return streamSSE(c, async stream => {
      send = () => stream.writeSSE({ event: 'change', data: '' });
      stream.onAbort(() => end());
      await stream.writeSSE({ event: 'begin', data: '', retry: 5000 });
      await ended;
      stop();
    });
  });

/** How often the state is looked at while a page is open. */
const LOOK_MS = 2 * SECOND;
/** Ages and counts move all the time: how often pages show them anew. */
const REFRESH_MS = 10 * SECOND;
const MOST_LISTENERS = 100;

interface Listener {
  /** There is something new to see. */
  readonly onChange: () => void;
  /** Nothing more will come. */
  readonly onEnd: () => void;
}

/** Tells open pages when to load again. However many are open, the state is looked at once; without one, not at all. */
export interface LiveUpdates {
  /** Returns what ends it; null where too many listen already. */
  listen(listener: Listener): (() => void) | null;
  close(): Promise<void>;
}

export function createLiveUpdates({
  database,
  clock,
  log,
}: {
  database: Database;
  clock: Clock;
  log: Log;
}): LiveUpdates {
  const listeners = new Set<Listener>();
  let over = new AbortController();
  let looking: Promise<void> = Promise.resolve();
  let isClosed = false;

  async function look(ended: AbortSignal): Promise<void> {
    let mark = await readStateMark(database.kysely);
    let toldAt = clock.now();
    for (;;) {
      await clock.sleep(LOOK_MS, ended);
      const seen = await readStateMark(database.kysely);
      if (seen === mark && clock.now() - toldAt < REFRESH_MS) continue;
      mark = seen;
      toldAt = clock.now();
      for (const { onChange } of listeners) onChange();
    }
  }

  const begin = () => {
    over = new AbortController();
    const { signal } = over;
    looking = look(signal).catch((error: unknown) => {
      if (signal.aborted) return;
      log.warn({ reason: explain(error) }, 'open pages are no longer told of changes');
      // Browsers connect again by themselves.
      for (const { onEnd } of [...listeners]) onEnd();
    });
  };

  return {
    listen(listener) {
      if (isClosed || listeners.size >= MOST_LISTENERS) return null;
      listeners.add(listener);
      if (listeners.size === 1) begin();
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) over.abort();
      };
    },
    async close() {
      isClosed = true;
      for (const { onEnd } of [...listeners]) onEnd();
      over.abort();
      await looking;
    },
  };
}
