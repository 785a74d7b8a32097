import { Hono } from 'hono';
import { type Clock, MINUTE, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { leaveHints } from '../../warehouse/ledgers/hints.ts';
import { listReceivers } from '../../warehouse/ledgers/webhook-addresses.ts';
import { isSameSecret } from '../access/attempt-limit.ts';
import { wakeUp } from '../schedule/wake-ups.ts';
import { sharedRun } from '../shared-run.ts';
import type { ServedSource } from '../status/served-source.ts';
import { type ChangeHint, changeHintsIn } from './change-hints.ts';

const MOST_BYTES = 64 * 1024;

export const WEBHOOK_RESULTS = ['hint', 'nothing', 'refused'] as const;
export type WebhookResult = (typeof WEBHOOK_RESULTS)[number];

interface ReceiverOptions {
  readonly database: Database;
  readonly sources: readonly ServedSource[];
  readonly inbox: HintInbox;
  readonly onWebhook: (result: WebhookResult) => void;
  readonly log: Log;
}

/**
 * Receives the webhooks of the sources, each at an address with its own secret; other addresses are unknown. The response waits only
 * for the message, and only a change hint of it is kept.
 */
export function createWebhookReceiver(options: ReceiverOptions): Hono {
  const { inbox, onWebhook } = options;
  const secrets = createSecretLookup(options);
  const app = new Hono();
  app.post('/:secret', async c => {
    const source = await secrets.findSource(c.req.param('secret'));
    if (!source) {
      onWebhook('refused');
      // The secret may be right: a sender that gets a 503 sends it again.
      return secrets.isStale
        ? c.text('The database is unavailable. Send the webhook again later.\n', 503)
        : c.notFound();
    }
    const message = await readBody(c.req.raw, MOST_BYTES);
    if (message === null) {
      onWebhook('refused');
      return c.text('The message is larger than 64 kB.\n', 413);
    }
    // A resource whose schedule is off is read by nobody, whatever its webhooks say.
    const hints = changeHintsIn(message, source.jobs)
      .filter(({ resource }) => source.scheduled.includes(resource))
      .map(hint => ({ source: source.name, ...hint }));
    inbox.add(hints);
    onWebhook(hints.length > 0 ? 'hint' : 'nothing');
    return c.text('ok\n');
  });
  return app;
}

/**
 * The body of a request as text, or null when it is larger than `mostBytes`; never more than that is kept. hono's `bodyLimit` fails
 * on chunked bodies unless the server replaces the global Request.
 */
async function readBody(request: Request, mostBytes: number): Promise<string | null> {
  if (Number(request.headers.get('content-length')) > mostBytes) return null;
  const parts: Uint8Array[] = [];
  let size = 0;
  // Not cancelled when too large: the response still needs the connection.
  for await (const part of request.body?.values({ preventCancel: true }) ?? []) {
    size += part.length;
    if (size > mostBytes) return null;
    parts.push(part);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}

/**
 * Another process may have registered a secret a moment ago: unknown ones query the database at most once a second. Known ones do
 * once a minute, because a secret that was replaced expires.
 */
function createSecretLookup({ database, sources, log }: ReceiverOptions) {
  let known: readonly { source: string; secret: string }[] = [];
  // Monotonic: the time of day may jump.
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let isStale = false;

  const refresh = sharedRun(async () => {
    try {
      known = await listReceivers(database.kysely);
      isStale = false;
    } catch (error) {
      // Once per outage, not for each webhook that arrives meanwhile.
      if (!isStale) log.warn(`could not read the webhook secrets: ${explain(error)}`);
      isStale = true;
    } finally {
      refreshedAt = performance.now();
    }
  });
  const findKnown = (secret: string) => {
    // Compares all of them, so that the time taken reveals nothing.
    const [match] = known.filter(each => isSameSecret(secret, each.secret));
    return sources.find(source => source.name === match?.source);
  };
  return {
    /** The served source whose webhooks carry `secret`. */
    async findSource(secret: string): Promise<ServedSource | undefined> {
      const source = findKnown(secret);
      if (performance.now() - refreshedAt < (source ? MINUTE : SECOND)) return source;
      const refreshed = refresh();
      // A known one is answered without waiting for the database.
      if (source) return source;
      await refreshed;
      return findKnown(secret);
    },
    /** The last look into the database failed, so that a new secret may be unknown here. */
    get isStale() {
      return isStale;
    },
  };
}

type SourceHint = ChangeHint & { readonly source: string };

/** Hints are written together, at most this often: a flood costs the database a few statements a second. */
const PAUSE_MS = SECOND / 4;
const RETRY_MS = 5 * SECOND;
/** Distinct hints kept in memory. More are dropped: the next slots find the changes they meant. */
const MOST_WAITING = 1000;

/** Accepts change hints without waiting for the database, and writes them soon. The next slots find what a crash loses here. */
export function createHintInbox({ database, clock, log }: { database: Database; clock: Clock; log: Log }) {
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
        for (const source of new Set(batch.map(hint => hint.source))) await wakeUp(database, source);
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
    add(hints: readonly SourceHint[]) {
      for (const hint of hints) keep(hint);
      void write();
    },
    /** Writes the remaining hints; resolves when they are written, or cannot be. */
    async close() {
      closing.abort();
      await write();
    },
  };
}

export type HintInbox = ReturnType<typeof createHintInbox>;
