import { Hono } from 'hono';
import { SECOND } from '../clock.ts';
import type { Database } from '../warehouse/database.ts';
import { listReceivers } from '../warehouse/receivers.ts';
import { isSame } from './access.ts';
import type { Inbox } from './inbox.ts';
import { hintsIn } from './message-hints.ts';
import type { Metrics } from './metrics.ts';
import { readText } from './read-text.ts';
import type { ServedSource } from './served-source.ts';

const MOST_BYTES = 64 * 1024;

/**
 * Where the webhooks of the sources arrive, each at an address with a secret of its own; any other address is unknown. The answer
 * waits for nothing but the message itself, and of that only a hint is kept.
 */
export function createReceiver(options: {
  database: Database;
  sources: readonly ServedSource[];
  inbox: Inbox;
  metrics: Pick<Metrics, 'webhook'>;
}): Hono {
  const { database, sources, inbox, metrics } = options;
  let known: readonly { source: string; secret: string }[] = [];
  // Not the time of day, which may jump.
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;

  const look = async () => {
    known = await listReceivers(database.kysely);
    lookedAt = performance.now();
  };
  const holderOf = (secret: string) => {
    // All are compared: how long it takes tells nothing.
    const [holder] = known.filter(each => isSame(secret, each.secret));
    return sources.find(source => source.name === holder?.source);
  };
  /** A secret may have been made a moment ago, by another process. Guesses ask the database once a second at most. */
  const findHolder = async (secret: string) => {
    const holder = holderOf(secret);
    if (holder || performance.now() - lookedAt < SECOND) return holder;
    looking ??= look().finally(() => {
      looking = undefined;
    });
    await looking;
    return holderOf(secret);
  };

  const app = new Hono();
  app.post('/:secret', async c => {
    const holder = await findHolder(c.req.param('secret'));
    if (!holder) {
      metrics.webhook('refused');
      return c.notFound();
    }
    const message = await readText(c.req.raw, MOST_BYTES);
    if (message === null) {
      metrics.webhook('refused');
      return c.text('The message is larger than 64 kB.\n', 413);
    }
    const hints = hintsIn(message, holder.jobs).map(hint => ({ source: holder.name, ...hint }));
    inbox.add(hints);
    metrics.webhook(hints.length > 0 ? 'hint' : 'nothing');
    return c.text('ok\n');
  });
  return app;
}
