import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { readTraits, writeTrait } from '../../warehouse/ledgers/traits.ts';
import { requestsAtOnce, requestsAtOnceTrait } from '../profile/source-traits.ts';
import type { LoopEvent } from './engine.ts';

/** Keeps in the profile how many requests the source serves at once, so that the next process starts with that number. */
export async function rememberConcurrency(options: {
  database: Database;
  source: string;
  concurrency: number;
  log: Log;
  onEvent?: ((event: LoopEvent) => void) | undefined;
}): Promise<{
  readonly known: number | undefined;
  readonly onChange: (allowed: number) => void;
  /** Resolves when all changes are stored. */
  readonly stored: () => Promise<void>;
}> {
  const { database, source, concurrency, log, onEvent } = options;
  const known = requestsAtOnce(await readTraits(database.kysely, source));
  let fewest = Math.min(concurrency, known ?? concurrency);
  let storing = Promise.resolve();
  return {
    known,
    onChange(allowed) {
      // Raised and lowered again and again, it is news only once.
      if (allowed < fewest) onEvent?.({ kind: 'crowded', allowed, concurrency });
      fewest = Math.min(fewest, allowed);
      storing = storing
        .then(() => writeTrait(database.kysely, source, requestsAtOnceTrait(allowed, concurrency)))
        .catch((error: unknown) =>
          log.warn({ err: error }, 'how many requests the source serves at once was not stored'),
        );
    },
    stored: () => storing,
  };
}
