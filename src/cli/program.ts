import { Command, type CommanderError } from 'commander';
import { capitalized, SluiceError, sentence } from '../errors.ts';
import { didYouMean } from '../nearest-name.ts';
import { VERSION } from '../version.ts';
import type { Cli } from './session/session.ts';

/** What it does, and how it is loaded: loading all takes three times as long as loading one. */
type Listed = readonly [description: string, load: (cli: Cli) => Promise<Command>];

/** As `sluice --help` shows them. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Listed>>>> = {
  'Begin:': {
    demo: [
      'See Sluice at work in half a minute on made-up data; your own data is not touched',
      async cli => (await import('./commands/demo.ts')).demoCommand(cli),
    ],
    init: [
      'Connect a source: ask for its address and key, test them, write .env',
      async cli => (await import('./commands/init.ts')).initCommand(cli),
    ],
    start: [
      'Run as a service: read every resource on its schedule and complete orders',
      async cli => (await import('./commands/start.ts')).startCommand(cli),
    ],
    doctor: [
      'Check settings, database and source; sends at most one request to each source',
      async cli => (await import('./commands/doctor.ts')).doctorCommand(cli),
    ],
  },
  'Read the source:': {
    sync: [
      'Read what is new and what may have changed',
      async cli => (await import('./commands/sync.ts')).syncCommand(cli),
    ],
    refresh: [
      'Make some records equal to the source now; exit with 1 if they are not',
      async cli => (await import('./commands/refresh.ts')).refreshCommand(cli),
    ],
    backfill: [
      'Read one resource again, completely or between two dates',
      async cli => (await import('./commands/backfill.ts')).backfillCommand(cli),
    ],
    verify: [
      'Compare every slice with the source; exit with 1 if anything differs',
      async cli => (await import('./commands/verify.ts')).verifyCommand(cli),
    ],
  },
  'Use the data:': {
    sql: ['Run a read-only query on the warehouse', async cli => (await import('./commands/sql.ts')).sqlCommand(cli)],
    changes: [
      'Show what changed, from the first full reading on, and follow it',
      async cli => (await import('./commands/changes.ts')).changesCommand(cli),
    ],
    notify: [
      'Deliver changes to other programs and chats: a signed POST for each, in order',
      async cli => (await import('./commands/notify.ts')).notifyCommand(cli),
    ],
    export: [
      'Write a table, a view or a query to a file',
      async cli => (await import('./commands/export.ts')).exportCommand(cli),
    ],
    mcp: [
      'Let an agent query the warehouse: a Model Context Protocol server on standard input and output',
      async cli => (await import('./commands/mcp.ts')).mcpCommand(cli),
    ],
  },
  'See what Sluice knows:': {
    status: [
      'Show what the warehouse holds, how fresh it is, and what Sluice is doing',
      async cli => (await import('./commands/status.ts')).statusCommand(cli),
    ],
    why: [
      'Tell the story of one record: is it right, what changed, what brought it',
      async cli => (await import('./commands/why.ts')).whyCommand(cli),
    ],
    agenda: [
      'Show what the service asks the source next, and why; sends no request',
      async cli => (await import('./commands/agenda.ts')).agendaCommand(cli),
    ],
    quarantine: [
      'List records that could not be parsed; they are kept and retried at the next reading',
      async cli => (await import('./commands/quarantine.ts')).quarantineCommand(cli),
    ],
  },
  'Decide:': {
    accept: [
      'Accept that many values of a column were replaced, which ends the incident',
      async cli => (await import('./commands/accept.ts')).acceptCommand(cli),
    ],
    undo: [
      'Restore the rows that a run replaced or deleted, without a request',
      async cli => (await import('./commands/undo.ts')).undoCommand(cli),
    ],
    close: [
      'Close a month: keep its rows with sums and digests, and tell what changes later',
      async cli => (await import('./commands/close.ts')).closeCommand(cli),
    ],
    forget: [
      'Erase a record that was deleted at the source, and every trace of it here',
      async cli => (await import('./commands/forget.ts')).forgetCommand(cli),
    ],
    reset: [
      'Delete the rows of one resource here, and everything recorded about them',
      async cli => (await import('./commands/reset.ts')).resetCommand(cli),
    ],
  },
  'Write to the source:': {
    push: [
      'Create records at the source from a file, each line once',
      async cli => (await import('./commands/push.ts')).pushCommand(cli),
    ],
    webhooks: [
      'Let the source report changes, so that they are read within seconds',
      async cli => (await import('./commands/webhooks.ts')).webhooksCommand(cli),
    ],
  },
  'Set up:': {
    grant: [
      'Create or update the login that may only read, for sluice sql, psql and BI tools',
      async cli => (await import('./commands/grant.ts')).grantCommand(cli),
    ],
    fields: [
      'Show what the source sends beyond the columns; give such a field a column',
      async cli => (await import('./commands/fields.ts')).fieldsCommand(cli),
    ],
    migrate: [
      'Bring the tables of the warehouse up to date',
      async cli => (await import('./commands/migrate.ts')).migrateCommand(cli),
    ],
    sandbox: [
      'Run a local server that behaves like the source, with made-up data',
      async cli => (await import('./commands/sandbox.ts')).sandboxCommand(cli),
    ],
    new: [
      'Begin a list that Sluice does not read yet: declare its fields from one page of it',
      async cli => (await import('./commands/new.ts')).newResourceCommand(cli),
    ],
    completion: [
      'Print a script that makes a shell complete commands, options and resources',
      async cli =>
        (await import('./commands/completion.ts')).completionCommand(
          cli,
          async () => (await createProgram(cli)).commands,
        ),
    ],
    'stop-db': [
      'Stop the embedded Postgres server; the next command starts it again',
      async cli => (await import('./commands/stop-db.ts')).stopDbCommand(cli),
    ],
    uninstall: [
      'Remove all that Sluice keeps: tables, bookkeeping, the embedded Postgres',
      async cli => (await import('./commands/uninstall.ts')).uninstallCommand(cli),
    ],
  },
};

const COMMANDS = Object.entries(GROUPS).flatMap(([group, commands]) =>
  Object.entries(commands).map(([name, [description, load]]) => ({ group, name, description, load })),
);

/**
 * The command line. `first`: the first word of the line to parse. Only the command of that name is loaded; without a line, all are. Wrong usage
 * throws the kind `usage`.
 */
export async function createProgram(cli: Cli, first?: string): Promise<Command> {
  const program = new Command('sluice')
    .description('Keeps a Postgres warehouse equal to a business suite by reading its REST API.')
    .usage('<command> [options]')
    .version(VERSION, '--version', 'print the version')
    .configureHelp({ subcommandTerm: command => command.name() })
    .addHelpText('after', '\nStart here: sluice demo. The options and examples of a command: sluice <command> --help');
  const isNamed = COMMANDS.some(({ name }) => name === first);
  const isLoaded = isNamed || first === undefined;
  for (const { group, name, description, load } of COMMANDS) {
    if (isNamed && name !== first) continue;
    const command = isLoaded ? await load(cli) : new Command(name);
    program.addCommand(command.description(description).helpGroup(group));
  }
  // Of a word that is no command, the help is an error, too.
  if (first !== undefined && !isNamed && /^\w/.test(first)) program.helpOption(false);
  for (const command of withSubcommands(program)) {
    command.helpCommand(false);
    // Commander's own messages about wrong usage are replaced by ours.
    command.configureOutput({ writeErr: () => undefined, writeOut: cli.print }).exitOverride(error => {
      throw error.exitCode === 0 ? error : usageError(command, error);
    });
  }
  return program;
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

function usageError(command: Command, error: CommanderError): SluiceError {
  if (error.code === 'commander.help')
    return new SluiceError('usage', 'No command was given.', { next: command.helpInformation() });
  // Queries are often pasted with a comment line above them.
  if (error.code === 'commander.unknownOption' && /'--[^']*\s/.test(error.message))
    return new SluiceError('usage', 'A query that starts with -- is taken for an option.', {
      next: `Put -- before the query: ${pathOf(command)} -- "-- a comment .."`,
    });
  const message = error.message.replace(/^error: /, '').replace(/\n.*$/s, '');
  const { what, names } = allowed(command, error);
  const near = didYouMean(message.split("'")[1] ?? '', names);
  const list = names.length > 0 ? `${what}: ${names.join(', ')}. ` : what;
  return new SluiceError('usage', sentence(`${capitalized(message)}${near}`), {
    next: `${list}See: ${pathOf(command)} --help`,
  });
}

function allowed(command: Command, { code }: CommanderError): { what: string; names: readonly string[] } {
  if (code === 'commander.unknownCommand')
    return { what: 'Commands', names: command.commands.map(each => each.name()) };
  if (code !== 'commander.unknownOption') return { what: '', names: [] };
  if (!command.parent) return { what: 'Options follow the command, as in: sluice status --json. ', names: [] };
  return { what: 'Options', names: command.options.map(option => option.long ?? option.flags) };
}

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
