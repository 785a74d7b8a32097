import { MINUTE, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { listReceivers } from '../../warehouse/ledgers/receivers.ts';
import { isSameSecret } from '../access/session-cookie.ts';
import type { ServedSource } from '../status/served-source.ts';

interface SecretLookup {
  /** The served source whose webhooks carry `secret`. */
  findSource(secret: string): Promise<ServedSource | undefined>;
  /** The last look into the database failed, so that a new secret may be unknown here. */
  readonly isStale: boolean;
}

/**
 * Another process may have registered a secret a moment ago: unknown ones query the database at most once a second. Known ones do
 * once a minute, because a secret that was replaced expires.
 */
export function createSecretLookup(options: {
  database: Database;
  sources: readonly ServedSource[];
  log: Log;
}): SecretLookup {
  const { database, sources, log } = options;
  let known: readonly { source: string; secret: string }[] = [];
  // Monotonic: the time of day may jump.
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  let isStale = false;

  const refresh = async () => {
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
  };
  const findKnown = (secret: string) => {
    // Compares all of them, so that the time taken reveals nothing.
    const [match] = known.filter(each => isSameSecret(secret, each.secret));
    return sources.find(source => source.name === match?.source);
  };
  return {
    async findSource(secret) {
      const source = findKnown(secret);
      if (performance.now() - refreshedAt < (source ? MINUTE : SECOND)) return source;
      refreshing ??= refresh().finally(() => {
        refreshing = undefined;
      });
      // A known one is answered without waiting for the database.
      if (source) return source;
      await refreshing;
      return findKnown(secret);
    },
    get isStale() {
      return isStale;
    },
  };
}
