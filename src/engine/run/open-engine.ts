import type { Budget } from '../../budget/budget.ts';
import type { ServerWindow } from '../../budget/server-window.ts';
import { stampMs } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type ClientOptions, openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { createSeenTime, type SeenTime } from '../../warehouse/database/now.ts';
import { readTraits, type Trait, writeTrait } from '../../warehouse/ledgers/traits.ts';
import type { Job } from '../job.ts';
import { requestsAtOnce, requestsAtOnceTrait, serverWindowTrait } from '../profile/source-traits.ts';
import { createResource } from '../resource.ts';
import type { Engine, LoopEvent } from './engine.ts';
import { createWaiting } from './waiting.ts';

export interface EngineOptions
  extends Omit<Engine, 'resources' | 'client' | 'waiting' | 'granted' | 'seenTime'>,
    Pick<ClientOptions, 'url' | 'apiKey' | 'auth' | 'timeoutMs'> {
  readonly schema: string;
  /** How far an answer may lag behind the source, in milliseconds. */
  readonly lagMs: number;
  /** Jobs by resource name. */
  readonly jobs: ReadonlyMap<string, Job>;
  readonly budget: Budget;
  /** Fail with the kind `quota` instead of waiting for the request limit. */
  readonly noWait: boolean;
}

/** Opens everything that a source's loop needs. What is known of its lists, the loop reads under the source's lock. */
export async function openEngine(options: EngineOptions): Promise<Engine & { close(): Promise<void> }> {
  const { url, apiKey, auth, timeoutMs, schema, lagMs, jobs, budget, noWait, ...engine } = options;
  const { source, database, clock, log, concurrency, windowMs, onEvent } = engine;
  const resources = [...jobs].map(([name, job]) => createResource({ source, name, job, schema, lagMs }));
  const waiting = createWaiting(clock);
  const seenTime = createSeenTime();
  const counted = watchGrants(budget, seenTime);
  const limits = await rememberLimits({ database, source, concurrency, log, onEvent });
  const client = openClient({
    url,
    apiKey,
    auth,
    timeoutMs,
    concurrency,
    knownConcurrency: limits.known,
    onConcurrency: limits.onConcurrency,
    onServerWindow: limits.onServerWindow,
    windowMs,
    budget: counted.budget,
    noWait,
    onWait: (lane, waitMs) => waiting.note(waitMs, lane),
    onRetry: (came, waitMs) => onEvent?.({ kind: 'retrying', came, waitMs }),
    clock,
    log,
  });
  return {
    ...engine,
    noWait,
    resources,
    client,
    waiting,
    granted: counted.granted,
    seenTime,
    async close() {
      await client.close();
      await limits.stored();
    },
  };
}

/** Counts what is granted to live readings, and notes when. A grant that was returned counts: it would have been used. */
function watchGrants(budget: Budget, seenTime: SeenTime): { budget: Budget; granted: () => number } {
  let granted = 0;
  return {
    granted: () => granted,
    budget: {
      async take(lane, want, kept) {
        const note = seenTime.asking();
        const taken = await budget.take(lane, want, kept);
        for (const { grantedAt } of taken.grants) note(stampMs(grantedAt));
        if (lane === 'live') granted += taken.grants.length;
        return taken;
      },
      settle: (grant, settlement) => budget.settle(grant, settlement),
      flush: () => budget.flush(),
      release: grants => budget.release(grants),
    },
  };
}

/**
 * Keeps in the profile how many requests the source serves at once, so that the next process starts with that number, and over how long it
 * counts its limit.
 */
async function rememberLimits(options: {
  database: Database;
  source: string;
  concurrency: number;
  log: Log;
  onEvent?: ((event: LoopEvent) => void) | undefined;
}): Promise<{
  readonly known: number | undefined;
  readonly onConcurrency: (allowed: number) => void;
  readonly onServerWindow: (found: ServerWindow | null) => void;
  /** Resolves when all changes are stored. */
  readonly stored: () => Promise<void>;
}> {
  const { database, source, concurrency, log, onEvent } = options;
  const known = requestsAtOnce(await readTraits(database.kysely, source));
  let fewest = Math.min(concurrency, known ?? concurrency);
  let storing = Promise.resolve();
  const store = (trait: Trait) => {
    storing = storing
      .then(() => writeTrait(database.kysely, source, trait))
      .catch((error: unknown) => log.warn({ err: error, trait: trait.trait }, 'a trait of the source was not stored'));
  };
  return {
    known,
    onServerWindow: found => store(serverWindowTrait(found)),
    onConcurrency(allowed) {
      // Raised and lowered again and again, it is news only once.
      if (allowed < fewest) onEvent?.({ kind: 'crowded', allowed, concurrency });
      fewest = Math.min(fewest, allowed);
      store(requestsAtOnceTrait(allowed, concurrency));
    },
    stored: () => storing,
  };
}
