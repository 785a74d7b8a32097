import { Hono } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import { type Clock, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { readStateMark } from '../../warehouse/reports/state-queries.ts';

/** How often the state is looked at while a page is open. */
const LOOK_MS = 2 * SECOND;
/** Ages and counts move all the time: how often pages show them anew. */
const REFRESH_MS = 10 * SECOND;
const MOST_PAGES = 100;

/** Tells open pages when to load again. However many are open, the state is looked at once; without one, not at all. */
export function createLiveUpdates({ database, clock, log }: { database: Database; clock: Clock; log: Log }) {
  const pages = new Set<SSEStreamingApi>();
  let over = new AbortController();
  let looking: Promise<void> = Promise.resolve();
  let isClosed = false;

  async function look({ signal }: AbortController): Promise<void> {
    try {
      let mark = await readStateMark(database.kysely);
      let toldAt = clock.elapsed();
      for (;;) {
        await clock.sleep(LOOK_MS, signal);
        const seen = await readStateMark(database.kysely);
        if (seen === mark && clock.elapsed() - toldAt < REFRESH_MS) continue;
        mark = seen;
        toldAt = clock.elapsed();
        for (const page of pages) void page.writeSSE({ event: 'change', data: '' });
      }
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ reason: explain(error) }, 'open pages are no longer told of changes');
      // Browsers connect again by themselves.
      endPages();
    }
  }

  const endPages = () => {
    for (const page of pages) page.abort();
  };
  const routes: Hono = new Hono().get('/live', c => {
    // Hono runs this for HEAD, too, and never reads the body.
    if (c.req.method === 'HEAD') return c.body(null);
    if (isClosed || pages.size >= MOST_PAGES) return c.text('Too many pages are open.\n', 503);
    return streamSSE(c, async page => {
      const ended = new Promise<void>(resolve => page.onAbort(resolve));
      pages.add(page);
      if (pages.size === 1) {
        over = new AbortController();
        looking = look(over);
      }
      await page.writeSSE({ event: 'begin', data: '', retry: 5000 });
      await ended;
      if (pages.delete(page) && pages.size === 0) over.abort();
    });
  });
  return {
    /** `/live`: server-sent events, one `change` whenever an open page should load again. */
    routes,
    async close(): Promise<void> {
      isClosed = true;
      endPages();
      over.abort();
      await looking;
    },
  };
}

export type LiveUpdates = ReturnType<typeof createLiveUpdates>;
