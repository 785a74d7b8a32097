import type { ServerWindow } from '../../budget/server-window.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { readTraits, type Trait, writeTrait } from '../../warehouse/ledgers/traits.ts';
import { requestsAtOnce, requestsAtOnceTrait, serverWindowTrait } from '../profile/source-traits.ts';
import type { LoopEvent } from './engine.ts';

/**
 * Keeps in the profile how many requests the source serves at once, so that the next process starts with that number, and over how long it
 * counts its limit.
 */
export async function rememberLimits(options: {
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
