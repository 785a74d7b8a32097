import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { RowCounts, ServedSource } from '../status/served-source.ts';

/** What the pages are made from. */
export interface ConsoleParts {
  readonly database: Database;
  readonly sources: readonly ServedSource[];
  /** The warehouse as the login that may only read; null where there is none. */
  openReader(): Promise<Database | null>;
  /** Browsers have to log in. */
  readonly isGuarded: boolean;
  /** Shared with the metrics, so that a table is counted once. */
  readonly rowCounts: RowCounts;
  /** Removes secrets from a text. */
  readonly hide: (text: string) => string;
  readonly log: Log;
}
