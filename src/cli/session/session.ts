import type { Clock } from '../../clock.ts';
import type { Config, SourceConfig, SourceSettings } from '../../config/config.ts';
import type { Job } from '../../engine/job.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { MigrationOptions } from '../../warehouse/database/migrate.ts';
import type { Terminal } from './terminal.ts';

/** The settings as commands see them. */
export interface Settings extends Omit<Config, 'secrets' | 'logLevel' | 'logLevelWords'> {
  /** The source that `--source` names, otherwise all of them. */
  readonly sources: readonly SourceConfig[];
  // The next four belong to a single source; reading one throws the kind `usage` if there are several.
  readonly source: SourceSettings | null;
  readonly sourceName: string;
  readonly timeZone: string;
  readonly schema: string;
}

/** Both addresses contain passwords. */
export interface Warehouse extends Database {
  /** The owner's address; with `openReader`, the one that was opened. */
  readonly url: string;
  /** The address of the login that may only read, if there is one. */
  readonly readerUrl: string | null;
}

/** What a command works with. Its databases are closed when the command ends, whether or not it succeeds. */
export interface Session {
  /** Name of the command, such as `sync`. */
  readonly command: string;
  readonly terminal: Terminal;
  readonly settings: Settings;
  /** Aborted by Ctrl-C and SIGTERM; in a service, by the second of them or at the end of the drain period. */
  readonly signal: AbortSignal;
  /** Aborted by the first Ctrl-C or SIGTERM: start nothing new. */
  readonly draining: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** By resource, in alphabetical order. */
  readonly jobs: ReadonlyMap<string, Job>;
  /** The settings of the source with these texts in place of what the environment and `.env` say. Kind `configuration` for a wrong one. */
  sourceWith(texts: { SOURCE_URL: string; SOURCE_API_KEY: string }): SourceSettings;
  /** Opens the warehouse as its owner; starts the embedded server if DATABASE_URL is not set. */
  openDatabase(options?: { name?: string; embedded?: boolean }): Promise<Warehouse>;
  /** Opens it as the login that may only read; as the owner where there is none, and `readerUrl` is null. */
  openReader(): Promise<Warehouse>;
  /** Default schema: that of the single source. */
  migrations(database: Database, schema?: string): MigrationOptions;
}

/** Exit code: 0 done, 1 failed, 75 stopped at the request limit. */
export type Outcome = 0 | 1 | 75;

export interface Cli {
  /** Wraps the work of a command: reads the settings first, closes everything afterwards and ends the process. */
  action<A extends unknown[]>(
    needs: { source: boolean },
    work: (session: Session, ...given: A) => Promise<Outcome>,
  ): (...given: A) => Promise<void>;
}
