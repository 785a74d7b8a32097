#!/usr/bin/env node
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { type Command, CommanderError } from 'commander';
import { createProgram } from './cli/program.ts';
import { checkNever, checkRewriteLimits, describeAddresses } from './cli/session/check-settings.ts';
import {
  type Cli,
  type ExitCode,
  loadJobs,
  type OpenSource,
  type Session,
  selectSettings,
  type Warehouse,
} from './cli/session/session.ts';
import { createTerminal } from './cli/session/terminal.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import { readConfig } from './config/read-config.ts';
import { embeddedStatus, openEmbedded } from './embedded-postgres/embedded-server.ts';
import { isKind, SluiceError } from './errors.ts';
import { createLog } from './log.ts';
import { openDatabase } from './warehouse/database/database.ts';

// V8 lets the heap grow to several times what is in use before it collects. With this, a load peaks at 180 MB, not 280, and
// takes 8% longer. The flag is read at each collection, so it can be set here.
setFlagsFromString('--heap-growing-percent=60');

const argv = process.argv.slice(2);
const flags = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
const terminal = createTerminal({ json: flags.includes('--json'), color: !flags.includes('--no-color') });
const draining = new AbortController();
const stopping = new AbortController();
const fromHere = (path: string) => new URL(path, import.meta.url);
/** A service drains at the first signal and stops at the second; other commands stop at the first. */
let drains = false;
let debugging = process.env.LOG_LEVEL === 'debug' || process.env.LOG_LEVEL === 'trace';

const cli: Cli = {
  action:
    (needs, work) =>
    async (...given) => {
      const jobs = await loadJobs(fromHere('../jobs'));
      const command = given.at(-1) as unknown as Command;
      const { source } = command.optsWithGlobals<{ source?: string }>();
      const config = readConfig({
        environment: process.env,
        directory: process.cwd(),
        needsSource: needs.source,
        source,
        resources: [...jobs.keys()],
      });
      terminal.hide(config.secrets);
      checkNever(config, jobs);
      checkRewriteLimits(config, jobs);
      await checkSchedules(config);
      debugging ||= config.logLevel === 'debug' || config.logLevel === 'trace';
      const closing: (() => Promise<void>)[] = [];
      let exitCode: ExitCode;
      try {
        const session = openSession(config, jobs, { name: command.name(), source, sendsKey: needs.source }, closing);
        exitCode = await work(session, ...given);
      } finally {
        // A connection that does not close must not hide the error that stopped the work.
        for (const close of closing.reverse()) await close().catch(error => terminal.note(`${error}`));
      }
      await end(exitCode);
    },
};

/** Checks cron expressions before anything starts. The scheduler, which does it, takes 50 ms to load, so only if one is set. */
async function checkSchedules({ sources }: Config): Promise<void> {
  for (const { name: source, schedules } of sources)
    for (const [resource, schedule] of Object.entries(schedules))
      if (schedule !== 'off') (await import('./service/schedule/schedule.ts')).cronOf({ source, resource, schedule });
}

function openSession(
  config: Config,
  jobs: Session['jobs'],
  command: { name: string; source: string | undefined; sendsKey: boolean },
  closing: (() => Promise<void>)[],
): Session {
  const { name } = command;
  const settings = selectSettings(config, command.source);
  const isService = name === 'start';
  drains = isService;
  // Commands print their own progress; a service is followed through its log.
  const level = config.logLevel === 'info' && !isService ? 'warn' : config.logLevel;
  const log = createLog({
    level,
    levelWords: config.logLevelWords,
    hide: terminal.hidden,
    color: terminal.noteColors.isColorSupported,
  });

  const say = (level: 'info' | 'warn', line: string) => (isService ? log[level](line) : terminal.note(`${line}.`));
  for (const warning of config.warnings) say('warn', warning);
  // Said once, when the database is first opened, before any request.
  const addresses = command.sendsKey ? describeAddresses(settings.sources) : [];

  async function findAddresses(embedded: boolean): Promise<Pick<Warehouse, 'url' | 'readerUrl'>> {
    if (!embedded) return { url: config.databaseUrl ?? '', readerUrl: config.readerUrl };
    const { state } = await embeddedStatus(config.dataDir);
    if (state === 'absent' && !isService)
      terminal.note(`Setting up Postgres in ${config.dataDir} (only once; takes a few seconds).`);
    const { url, readerUrl } = await openEmbedded({ dataDir: config.dataDir, log });
    terminal.hide([new URL(url).password, new URL(readerUrl).password]);
    return { url, readerUrl };
  }

  async function connect(addresses: Pick<Warehouse, 'url' | 'readerUrl'>, applicationName = `sluice ${name}`) {
    const database = await openDatabase({ url: addresses.url, applicationName, log });
    closing.push(() => database.close());
    return Object.assign(database, addresses);
  }

  async function open(options: { name?: string; embedded?: boolean } = {}): Promise<Warehouse> {
    for (const line of addresses.splice(0)) say('info', line);
    return connect(await findAddresses(options.embedded ?? config.databaseUrl === null), options.name);
  }

  async function openReader(): Promise<Warehouse> {
    // A machine where people only read has no more than this address.
    const { readerUrl: given } = config;
    const { url, readerUrl } = given
      ? { url: given, readerUrl: given }
      : await findAddresses(config.databaseUrl === null);
    return connect({ url: readerUrl ?? url, readerUrl });
  }

  return {
    command: name,
    terminal,
    settings,
    signal: stopping.signal,
    draining: draining.signal,
    clock: systemClock,
    log,
    jobs,
    sourceWith(texts, alone) {
      const { sources } = readConfig({
        environment: alone ? texts : { ...process.env, ...texts },
        // In the folder of the program, there is no file with settings.
        directory: alone ? fileURLToPath(fromHere('.')) : process.cwd(),
        needsSource: true,
        withoutFile: true,
        resources: [...jobs.keys()],
      });
      return sources[0] as OpenSource;
    },
    openDatabase: open,
    openReader,
    migrations: {
      sluiceFolder: fileURLToPath(fromHere('../migrations/sluice')),
      warehouseFolder: fileURLToPath(fromHere('../migrations/warehouse')),
    },
  };
}

/** Reports the error that stopped the command, and ends with the exit code of its kind. */
async function fail(error: unknown): Promise<never> {
  if (error instanceof CommanderError && error.exitCode === 0) return end(0);
  const known = error instanceof SluiceError;
  const kind = known ? error.kind : 'bug';
  const message = terminal.hidden(error instanceof Error ? error.message : String(error));
  const next = terminal.hidden(
    known
      ? (error.next ?? '')
      : 'This is a bug in Sluice. Incomplete changes were rolled back. LOG_LEVEL=debug shows where it happened.',
  );
  // After partial output, only the exit code and stderr report the error: a second JSON document would make stdout invalid.
  if (terminal.json && !terminal.begun)
    terminal.show({ error: { kind, message, ...(next ? { next } : {}) } }, () => '');
  terminal.note([terminal.noteColors.red(message), next].filter(Boolean).join('\n'));
  if (debugging && error instanceof Error && error.stack) terminal.note(error.stack);
  return end(isKind(error, 'usage', 'configuration') ? 2 : isKind(error, 'quota') ? 75 : 1);
}

async function end(code: number): Promise<never> {
  await terminal.flush();
  process.exit(code);
}

for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    const reason = new SluiceError('stopped', 'Stopped on request.', {
      next: 'Run the same command again to continue.',
    });
    if (stopping.signal.aborted) process.exit(1);
    if (draining.signal.aborted || !drains) stopping.abort(reason);
    draining.abort(reason);
  });
}
process.on('unhandledRejection', fail);
process.on('uncaughtException', fail);

try {
  const program = await createProgram(cli, argv[0]);
  await program.parseAsync(argv, { from: 'user' });
} catch (error) {
  await fail(error);
}
