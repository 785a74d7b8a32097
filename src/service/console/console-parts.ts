import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import type { RowCounts, ServedSource } from '../status/served-source.ts';
import {
  type FullState,
  readFullState,
  readStates,
  type SourceState,
  unreadableState,
} from '../status/source-state.ts';
import type { Now } from './elements.ts';

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
  readonly hide: (text: string) => string;
  readonly log: Log;
}

/** All sources, in a few statements; their tables are counted only where they have changed. */
export const readSources = (parts: ConsoleParts): Promise<SourceState[]> =>
  readStates(parts.database, parts.sources, {
    isServed: true,
    countRows: parts.rowCounts,
    onUnreadable: (source, error) => noteUnreadable(parts, source, error),
  });

export const readSource = (parts: ConsoleParts, source: ServedSource): Promise<FullState> =>
  readFullState(parts.database, source, true).catch(error =>
    unreadableState(source, noteUnreadable(parts, source, error)),
  );

/** Says why a source cannot be read, for people. */
export function noteUnreadable({ hide, log }: ConsoleParts, { name }: ServedSource, error: unknown): string {
  log.warn({ source: name, err: error }, 'could not read the state of a source');
  return hide(explain(error));
}

/** This moment, in the zone of a source. */
export const nowIn = async ({ database }: Pick<ConsoleParts, 'database'>, source?: ServedSource): Promise<Now> => ({
  at: await databaseNow(database),
  timeZone: source?.timeZone ?? 'UTC',
});

/** Whether a part of an address can be the id of a run or an order. */
export const isId = (text: string): boolean => /^\d{1,18}$/.test(text);
