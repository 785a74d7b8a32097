import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { LiveUpdates } from './live-updates.ts';

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
