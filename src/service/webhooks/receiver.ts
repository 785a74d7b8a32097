import { Hono } from 'hono';
import { SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { listReceivers } from '../../warehouse/ledgers/receivers.ts';
import type { Metrics } from '../metrics.ts';
import { isSame } from '../page/access.ts';
import type { ServedSource } from '../served-source.ts';
import type { Inbox } from './inbox.ts';
import { hintsIn } from './message-hints.ts';
import { readText } from './read-text.ts';

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
  log: Log;
}): Hono {
  const { database, sources, inbox, metrics, log } = options;
  let known: readonly { source: string; secret: string }[] = [];
  // Not the time of day, which may jump.
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;
  /** The last look failed: which secrets there are by now nobody can tell. */
  let unsure = false;

  const look = async () => {
    try {
      known = await listReceivers(database.kysely);
      unsure = false;
    } catch (error) {
      // Once for an outage, not for each post that comes meanwhile.
      if (!unsure) log.warn(`the secrets of the webhooks could not be read: ${explain(error)}`);
      unsure = true;
    } finally {
      lookedAt = performance.now();
    }
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
      // It may be right: who is told that the service is out of order posts it again.
      return unsure ? c.text('The database does not answer; post it again later.\n', 503) : c.notFound();
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
