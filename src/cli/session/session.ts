import { resolve } from 'node:path';
import { Command } from 'commander';
import type { Clock } from '../../clock.ts';
import type { Config, SourceConfig, SourceSettings } from '../../config/config.ts';
import type { Job } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { didYouMean } from '../../nearest-name.ts';
import { parseDuration } from '../../service/format.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { MigrationOptions } from '../../warehouse/database/migrate.ts';
import type { Shell } from './shell.ts';
import type { Terminal } from './terminal.ts';

interface Settings extends Omit<Config, 'secrets' | 'logLevel' | 'logLevelWords'> {
  /** The source that `--source` names, otherwise all of them. */
  readonly sources: readonly SourceConfig[];
  /** The only one of them. Reading it throws the kind `usage` if there are several. */
  readonly single: SourceConfig;
}

/** Both addresses contain passwords. */
export interface Warehouse extends Database {
  /** The owner's address; with `openReader`, the one that was opened. */
  readonly url: string;
  /** The address of the login that may only read, if there is one. */
  readonly readerUrl: string | null;
}

/** A source whose address and key are set. */
export type OpenSource = SourceConfig & { readonly settings: SourceSettings };

export const isOpen = (source: SourceConfig): source is OpenSource => source.settings !== null;

/** What a command works with. Its databases are closed when the command ends, whether or not it succeeds. */
export interface Session {
  readonly command: string;
  readonly shell: Shell;
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
  /** Settings and jobs from the files as they are now. Kind `configuration` for a wrong one. */
  reload(): Promise<Pick<Session, 'settings' | 'jobs'>>;
  /** The JSON schema of the files in `lists/`; it may be absent. */
  readonly schemaFile: string;
  /**
   * The source that these texts describe, and for the rest the environment and `.env`, unless `alone`. Kind `configuration` for a
   * wrong one.
   */
  sourceWith(
    texts: { SOURCE_URL: string; SOURCE_API_KEY: string } & Readonly<Record<string, string>>,
    alone?: 'alone',
  ): OpenSource;
  /**
   * Opens the warehouse as its owner; starts the embedded server if DATABASE_URL is not set. Where READER_DATABASE_URL is all that is set:
   * as that login with `reads`, kind `configuration` without.
   */
  openDatabase(options?: { name?: string; embedded?: boolean; reads?: true }): Promise<Warehouse>;
  /** Opens it as the login that may only read; as the owner where there is none, and `readerUrl` is null. Default: at most 10 connections. */
  openReader(options?: { most?: number }): Promise<Warehouse>;
  readonly migrations: Pick<MigrationOptions, 'sluiceFolder' | 'warehouseFolder'>;
}

/** The absolute path of a file or folder that somebody named. */
export const pathFrom = ({ shell }: Pick<Session, 'shell'>, path: string): string => resolve(shell.cwd, path);

/** Exit code: 0 done, 1 failed, 75 stopped at the request limit. */
export type ExitCode = 0 | 1 | 75;

export interface Cli {
  /** For help and the version. */
  readonly print: (text: string) => void;
  /**
   * Wraps the work of a command: reads the settings first and closes everything afterwards. `lists: false`: the command works with the lists that
   * Sluice knows, whatever the folder declares.
   */
  action<A extends unknown[]>(
    needs: { source: boolean; lists?: false },
    work: (session: Session, ...given: A) => Promise<ExitCode>,
  ): (...given: A) => Promise<void>;
}

/** The settings for one command: those of the source that `--source` names, otherwise of all. Kind `usage` for an unknown name. */
export function selectSettings(given: Omit<Settings, 'single'>, named: string | undefined): Settings {
  const known = given.sources.map(source => source.name);
  const names = known.join(', ');
  const sources = given.sources.filter(source => named === undefined || source.name === named);
  if (sources.length === 0) {
    const near = didYouMean(named ?? '', known);
    throw new SluiceError('usage', `Unknown source "${named}"${near}.`, { next: `Sources: ${names}.` });
  }
  const settings: Omit<Settings, 'single'> = { ...given, sources };
  // Not enumerable: a copy must not read it.
  return Object.defineProperty(settings, 'single', {
    get(): SourceConfig {
      const [source] = sources;
      if (source && sources.length === 1) return source;
      throw new SluiceError('usage', 'This command works on one source, and there are several.', {
        next: `Name one with --source: ${names}.`,
      });
    },
  }) as Settings;
}

/** The session with the lists, the rules and the reserves that were read since. The rest of the settings is that of its begin. */
export function followed(session: Session, { settings, jobs }: Pick<Session, 'settings' | 'jobs'>): Session {
  const sources = session.settings.sources.map((source): SourceConfig => {
    const now = settings.sources.find(({ name }) => name === source.name) ?? source;
    const { never, hash, reserve, reservedAt, limit } = now;
    return {
      ...source,
      never,
      hash,
      reserve,
      reservedAt,
      limit,
      settings: source.settings && { ...source.settings, limit },
    };
  });
  return { ...session, jobs, settings: selectSettings({ ...session.settings, sources }, undefined) };
}

/** The login that may only read. Says so where queries run with all rights of DATABASE_URL. */
export async function openQueryLogin(session: Session): Promise<Database> {
  const database = await session.openReader();
  if (database.readerUrl === null)
    session.terminal.note(
      'This query runs with the rights of DATABASE_URL, because no login that may only read is set. Create one: sluice grant',
    );
  return database;
}

/** The named resources, each once; all resources if none is named. Kind `usage` for an unknown one. */
export function selectResources(jobs: ReadonlyMap<string, Job>, names: readonly string[]): string[] {
  for (const name of names) {
    if (jobs.has(name)) continue;
    throw new SluiceError('usage', `Unknown resource "${name}"${didYouMean(name, jobs.keys())}.`, {
      next: `Resources: ${[...jobs.keys()].join(', ')}.`,
    });
  }
  return names.length === 0 ? [...jobs.keys()] : [...new Set(names)];
}

/** A list of the only source. Kind `usage` for an unknown one, and where there are several sources. */
export function listOf({ jobs, settings }: Pick<Session, 'jobs' | 'settings'>, name: string) {
  selectResources(jobs, [name]);
  const { name: source, schema } = settings.single;
  return { source, schema, name, job: jobs.get(name) as Job };
}

/** A parser for a numeric option. It throws the kind `usage` for anything but a whole number in the range. */
export function parseWholeNumber(flag: string, least: number, most: number): (text: string) => number {
  return text => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new SluiceError('usage', `${flag} ${text} is not valid.`, {
      next: `Expected: a whole number from ${least} to ${most}.`,
    });
  };
}

/** A parser for a duration, in milliseconds. It throws the kind `usage` for anything else. */
export function duration(flag: string): (text: string) => number {
  return text => {
    const ms = parseDuration(text);
    if (ms !== null) return ms;
    throw new SluiceError('usage', `${flag} ${text} is not valid.`, {
      next: 'Expected: a number with s, m, h or d, such as 5m, or 0.',
    });
  };
}

export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** A command with the options that all commands share. `examples`: one command line each, shown by `--help`. Its description stands in `program.ts`. */
export function newCommand(name: string, examples: string): Command {
  return new Command(name)
    .option('--json', 'print one JSON document to stdout; logs and progress go to stderr')
    .option('--no-color', 'disable colours (or set NO_COLOR=1)')
    .option('--source <name>', 'use only this source of the sources file')
    .addHelpText('after', `\nExamples:\n${examples.replaceAll(/^/gm, '  ')}`);
}

export const NO_WAIT = 'at the request limit, stop with exit code 75 instead of waiting; progress is kept';

export interface CostOptions {
  readonly dryRun?: boolean;
  readonly maxRequests?: number;
  readonly wait: boolean;
}

/** The options that say what a command may cost. */
export const withCostOptions = (
  command: Command,
  most = 'stop with exit code 75 after <n> requests; progress is kept',
): Command =>
  command
    .option('--dry-run', 'print what it would cost and when it would be done; send no request and change nothing')
    .option('--max-requests <n>', most, parseWholeNumber('--max-requests', 1, 1_000_000))
    .option('--no-wait', NO_WAIT);
