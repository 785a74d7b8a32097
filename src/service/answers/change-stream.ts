import { Hono } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import { type Clock, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { readChanges, readNumbers, whyNotFrom } from '../../warehouse/reports/changes.ts';
import { type ServedSource, sourceAsked } from '../status/served-source.ts';

/** How often the newest number is looked at while somebody listens. */
const LOOK_MS = SECOND;
const MOST_LISTENERS = 20;
/** A listener hears something at least after so many looks: proxies close connections that are silent for half a minute. */
const QUIET_LOOKS = 15;

/**
 * `/changes?source=main&from=4711`: server-sent events, one `change` for each change from that number on, in order. `id` is its number, so that a
 * listener that connects again goes on where it was. Without `from`, those that come.
 */
export function createChangeStream({
  database,
  sources,
  clock,
  log,
}: {
  readonly database: Database;
  readonly sources: readonly Pick<ServedSource, 'name' | 'schema'>[];
  readonly clock: Clock;
  readonly log: Log;
}) {
  const listeners = new Set<SSEStreamingApi>();
  let isClosed = false;
  const running = new Set<Promise<void>>();

  async function send(stream: SSEStreamingApi, schema: string, from: number, signal: AbortSignal): Promise<void> {
    let quiet = 0;
    for (let next = from; !signal.aborted; ) {
      const numbers = await readNumbers(database, schema);
      const { last } = numbers;
      // Who connects again is told why.
      if (whyNotFrom(numbers, next) !== null) return;
      quiet = next <= last ? 0 : quiet + 1;
      if (quiet % QUIET_LOOKS === QUIET_LOOKS - 1) await stream.write(':\n\n');
      while (next <= last && !signal.aborted) {
        const changes = await readChanges(database, schema, { from: next, to: last });
        // They were forgotten meanwhile.
        if (changes[0]?.number !== String(next)) return;
        for (const { number, data } of changes) await stream.writeSSE({ event: 'change', id: number, data });
        next += changes.length;
      }
      await clock.sleep(LOOK_MS, signal).catch(() => undefined);
    }
  }

  const routes: Hono = new Hono().get('/changes', async c => {
    const source = sourceAsked(sources, c.req.query('source'));
    if (!source) return c.text(`Expected source=, one of ${sources.map(({ name }) => name).join(', ')}.\n`, 404);
    // What a listener has seen, as the standard says.
    const seen = c.req.header('last-event-id');
    const text = seen === undefined ? c.req.query('from') : String(Number(seen) + 1);
    if (text !== undefined && !/^\d{1,15}$/.test(text)) return c.text('Expected from=, the number of a change.\n', 400);
    const numbers = await readNumbers(database, source.schema);
    const from = text === undefined ? numbers.last + 1 : Number(text);
    const why = whyNotFrom(numbers, from);
    if (why !== null) return c.text(`${why}\n`, 410);
    // Hono runs this for HEAD, too, and never reads the body.
    if (c.req.method === 'HEAD') return c.body(null);
    if (isClosed || listeners.size >= MOST_LISTENERS) return c.text('Too many clients are listening.\n', 503);
    return streamSSE(c, async stream => {
      const over = new AbortController();
      stream.onAbort(() => over.abort());
      listeners.add(stream);
      const sending = send(stream, source.schema, from, over.signal).catch((error: unknown) => {
        if (!over.signal.aborted) log.warn({ reason: explain(error) }, 'a listener is no longer told of changes');
      });
      running.add(sending);
      // With an id, so that who connects again before the first change misses none.
      await stream.writeSSE({ event: 'begin', id: String(from - 1), data: '', retry: 5000 });
      await sending;
      listeners.delete(stream);
      running.delete(sending);
    });
  });
  return {
    routes,
    async close(): Promise<void> {
      isClosed = true;
      for (const stream of listeners) stream.abort();
      await Promise.all(running);
    },
  };
}

export type ChangeStream = ReturnType<typeof createChangeStream>;
