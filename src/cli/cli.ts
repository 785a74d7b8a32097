import { Command } from 'commander';
import type { Clock } from '../clock.ts';
import type { Job } from '../engine/job.ts';
import type { Log } from '../log.ts';
import type { Database } from '../warehouse/database/database.ts';
import type { MigrationOptions } from '../warehouse/database/migrate.ts';
import type { Retention } from '../warehouse/ledgers/retention.ts';
import type { Terminal } from './output/terminal.ts';
import type { NamedSource, SourceSettings } from './source-settings.ts';

/** What is known of the settings outside of main. */
export interface Settings {
  /** The sources that the command is about: the one that `--source` names, else all there are. */
  readonly sources: readonly NamedSource[];
  // Of the one source; reading any of them throws the kind `usage` where there are several.
  readonly source: SourceSettings | null;
  readonly sourceName: string;
  readonly timeZone: string;
  readonly schema: string;
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly token: string | null;
  readonly drainMs: number;
  readonly alertWebhookUrl: string | null;
  readonly freshnessLimitMs: number;
  readonly retention: Retention;
  readonly shown: readonly { readonly name: string; readonly value: string; readonly from: string }[];
}

/** What main gives to the work of one command. It closes the databases when the work ends, however that is. */
export interface Session {
  readonly terminal: Terminal;
  readonly settings: Settings;
  /** Aborted by Ctrl-C and SIGTERM; for a service, by the second one, or when it has drained for long enough. */
  readonly signal: AbortSignal;
  /** Aborted by the first Ctrl-C or SIGTERM: begin nothing new. */
  readonly draining: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** By resource, in the order of their names. */
  readonly jobs: ReadonlyMap<string, Job>;
  /** The warehouse; starts the embedded server where no DATABASE_URL is set. `url` holds the password. */
  openDatabase(options?: { name?: string; embedded?: boolean }): Promise<Database & { url: string }>;
  /** For `schema`; without one, for that of the one source. */
  migrations(database: Database, schema?: string): MigrationOptions;
}

/** What the exit code will be: 0 done, 1 failed, 75 stopped at the limit. */
export type Outcome = 0 | 1 | 75;

export interface Cli {
  /** The action of a command: reads the settings, does the work, closes everything and ends the process. */
  action<A extends unknown[]>(
    needs: { source: boolean },
    work: (session: Session, ...given: A) => Promise<Outcome>,
  ): (...given: A) => Promise<void>;
}

export function newCommand(name: string, description: string, example: string): Command {
  return new Command(name)
    .description(description)
    .option('--json', 'one JSON document on stdout; logs and progress go to stderr')
    .option('--no-color', 'without colours (also NO_COLOR=1)')
    .option('--source <name>', 'one source of those that the sources file names')
    .addHelpText('after', `\nExample:\n${example.replaceAll(/^/gm, '  ')}`);
}
