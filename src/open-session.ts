import { fileURLToPath } from 'node:url';
import { describeAddresses } from './cli/session/check-settings.ts';
import { type OpenSource, type Session, selectSettings, type Warehouse } from './cli/session/session.ts';
import type { Shell } from './cli/session/shell.ts';
import type { Terminal } from './cli/session/terminal.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import { readConfig } from './config/read-config.ts';
import { embeddedStatus, isEmbedded, openEmbedded } from './embedded-postgres/embedded-server.ts';
import { SluiceError } from './errors.ts';
import { createLog } from './log.ts';
import { openDatabase } from './warehouse/database/database.ts';

/** `closing`: collects what is to be closed when the command ends. */
export function openSession(given: {
  readonly shell: Shell;
  readonly home: URL;
  readonly terminal: Terminal;
  readonly config: Config;
  readonly jobs: Session['jobs'];
  readonly reload: () => Promise<Pick<Session, 'jobs'> & { readonly config: Config }>;
  readonly command: { readonly name: string; readonly source: string | undefined; readonly sendsKey: boolean };
  readonly signals: { readonly stopping: AbortSignal; readonly draining: AbortSignal };
  readonly closing: (() => Promise<void>)[];
}): Session {
  const { shell, home, terminal, config, jobs, reload, signals, closing } = given;
  const { name, source, sendsKey } = given.command;
  const fromHome = (path: string) => fileURLToPath(new URL(path, home));
  const settings = selectSettings(config, source);
  const isService = name === 'start';
  // Commands print their own progress; a service is followed through its log.
  const level = config.logLevel === 'info' && !isService ? 'warn' : config.logLevel;
  const log = createLog({
    level,
    levelWords: config.logLevelWords,
    hide: terminal.hidden,
    color: terminal.noteColors.isColorSupported,
    destination: shell.stderr,
  });

  const say = (level: 'info' | 'warn', line: string) => (isService ? log[level](line) : terminal.note(`${line}.`));
  for (const warning of config.warnings) say('warn', warning);
  // Said once, when the database is first opened, before any request.
  const addresses = sendsKey ? describeAddresses(settings.sources) : [];

  async function findAddresses(embedded: boolean): Promise<Pick<Warehouse, 'url' | 'readerUrl'>> {
    if (!embedded) return { url: config.databaseUrl ?? '', readerUrl: config.readerUrl };
    const { state } = await embeddedStatus(config.dataDir);
    if (state === 'absent' && !isService)
      terminal.note(`Setting up Postgres in ${config.dataDir} (only once; takes a few seconds).`);
    const { url, readerUrl } = await openEmbedded({ dataDir: config.dataDir, log });
    terminal.hide([new URL(url).password, new URL(readerUrl).password]);
    return { url, readerUrl };
  }

  /** The only address of a machine where people only read; null elsewhere. That of the embedded server's reader comes with its owner's. */
  async function findOnlyReader(): Promise<string | null> {
    const { databaseUrl, readerUrl, dataDir } = config;
    if (databaseUrl !== null || readerUrl === null) return null;
    return (await isEmbedded(dataDir, readerUrl)) ? null : readerUrl;
  }

  async function connect(
    addresses: Pick<Warehouse, 'url' | 'readerUrl'>,
    { name: applicationName = `sluice ${name}`, most: max }: { name?: string; most?: number },
  ) {
    const database = await openDatabase({ url: addresses.url, applicationName, log, max });
    closing.push(() => database.close());
    return Object.assign(database, addresses);
  }

  return {
    command: name,
    shell,
    terminal,
    settings,
    signal: signals.stopping,
    draining: signals.draining,
    clock: systemClock,
    log,
    jobs,
    async reload() {
      const read = await reload();
      return { jobs: read.jobs, settings: selectSettings(read.config, source) };
    },
    schemaFile: fromHome('list.schema.json'),
    sourceWith(texts, alone) {
      const { sources } = readConfig({
        environment: alone ? texts : { ...shell.env, ...texts },
        // In the folder of the jobs, there is no file with settings.
        directory: alone ? fromHome('jobs') : shell.cwd,
        needsSource: true,
        withoutFile: true,
        resources: [...jobs.keys()],
      });
      return sources[0] as OpenSource;
    },
    async openDatabase(options = {}) {
      for (const line of addresses.splice(0)) say('info', line);
      const only = options.embedded === undefined ? await findOnlyReader() : null;
      if (only === null) return connect(await findAddresses(options.embedded ?? config.databaseUrl === null), options);
      if (options.reads) return connect({ url: only, readerUrl: only }, options);
      throw new SluiceError(
        'configuration',
        'DATABASE_URL is not set, and the login of READER_DATABASE_URL may only read, which does not suffice here.',
        {
          next: 'Set DATABASE_URL to the address of the owner, or remove READER_DATABASE_URL to use an embedded Postgres.',
        },
      );
    },
    async openReader(options = {}) {
      // A machine where people only read has no more than this address.
      const { readerUrl: only } = config;
      const { url, readerUrl } = only
        ? { url: only, readerUrl: only }
        : await findAddresses(config.databaseUrl === null);
      return connect({ url: readerUrl ?? url, readerUrl }, options);
    },
    migrations: { sluiceFolder: fromHome('migrations/sluice'), warehouseFolder: fromHome('migrations/warehouse') },
  };
}
