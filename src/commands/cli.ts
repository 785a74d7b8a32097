import { Command } from 'commander';
import type { Clock } from '../clock.ts';
import type { Job } from '../engine/job.ts';
import type { Log } from '../log.ts';
import type { Database } from '../warehouse/database.ts';
import type { MigrationOptions } from '../warehouse/migrate.ts';
import type { SourceSettings } from './source-settings.ts';
import type { Terminal } from './terminal.ts';

/** What is known of the settings outside of main. */
export interface Settings {
  readonly source: SourceSettings | null;
  /** What the bookkeeping calls the source: `main` for the schema `warehouse`, else the name of the schema. */
  readonly sourceName: string;
  readonly timeZone: string;
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  readonly schema: string;
  readonly shown: readonly { readonly name: string; readonly value: string; readonly from: string }[];
}

/** What main gives to the work of one command. It closes the databases when the work ends, however that is. */
export interface Session {
  readonly terminal: Terminal;
  readonly settings: Settings;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** By resource, in the order of their names. */
  readonly jobs: ReadonlyMap<string, Job>;
  /** The warehouse; starts the embedded server where no DATABASE_URL is set. `url` holds the password. */
  openDatabase(options?: { name?: string; embedded?: boolean }): Promise<Database & { url: string }>;
  migrations(database: Database): MigrationOptions;
}

/** What the exit code will be: 0 done, 1 failed. */
export type Outcome = 0 | 1;

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
    .addHelpText('after', `\nExample:\n${example.replaceAll(/^/gm, '  ')}`);
}
