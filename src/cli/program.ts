import { Command, type CommanderError } from 'commander';
import { capitalized, SluiceError, sentence } from '../errors.ts';
import { didYouMean } from '../nearest-name.ts';
import { VERSION } from '../version.ts';
import type { Cli } from './session/session.ts';

/** What each does, as `sluice --help` shows them. */
const GROUPS = {
  'Begin:': {
    demo: 'See Sluice at work in half a minute on made-up data; your own data is not touched',
    init: 'Connect a source: ask for its address and key, test them, write .env',
    start: 'Run as a service: read every resource on its schedule and complete orders',
    doctor: 'Check settings, database and source; sends at most one request to each source',
  },
  'Read the source:': {
    sync: 'Read what is new and what may have changed',
    refresh: 'Make some records equal to the source now; exit with 1 if they are not',
    backfill: 'Read one resource again, completely or between two dates',
    verify: 'Compare every slice with the source; exit with 1 if anything differs',
  },
  'Use the data:': {
    sql: 'Run a read-only query on the warehouse',
    changes: 'Show what changed, from the first full reading on, and follow it',
    notify: 'Deliver changes to other programs and chats: a signed POST for each, in order',
    export: 'Write a table, a view or a query to a file',
    describe: 'Show the tables, views and columns, also as types for TypeScript and as sources for dbt',
    mcp: 'Let an agent query the warehouse: a Model Context Protocol server on standard input and output',
  },
  'See what Sluice knows:': {
    status: 'Show what the warehouse holds, how fresh it is, and what Sluice is doing',
    why: 'Tell the story of one record: is it right, what changed, what brought it',
    agenda: 'Show what the service asks the source next, and why; sends no request',
    quarantine: 'List records that could not be parsed; they are kept and retried at the next reading',
  },
  'Decide:': {
    accept: 'Accept that many values of a column were replaced, which ends the incident',
    undo: 'Restore the rows that a run replaced or deleted, without a request',
    close: 'Close a month: keep its rows with sums and digests, and tell what changes later',
    forget: 'Erase a record that was deleted at the source, and every trace of it here',
    reset: 'Delete the rows of one resource here, and everything recorded about them',
  },
  'Write to the source:': {
    push: 'Create records at the source from a file, each line once',
    webhooks: 'Let the source report changes, so that they are read within seconds',
  },
  'Set up:': {
    grant: 'Create or update the login that may only read, for sluice sql, psql and BI tools',
    fields: 'Show what the source sends beyond the columns; give such a field a column',
    migrate: 'Bring the tables of the warehouse up to date',
    sandbox: 'Run a local server that behaves like the source, with made-up data',
    new: 'Begin a list that Sluice does not read yet: declare its fields from one page of it',
    completion: 'Print a script that makes a shell complete commands, options and resources',
    'stop-db': 'Stop the embedded Postgres server; the next command starts it again',
    uninstall: 'Remove all that Sluice keeps: tables, bookkeeping, the embedded Postgres',
  },
};

type Name = { [Group in keyof typeof GROUPS]: keyof (typeof GROUPS)[Group] }[keyof typeof GROUPS];

/** `all`: every command of the program. */
interface CommandFile {
  readonly command: (cli: Cli, all: () => Promise<readonly Command[]>) => Command;
}

/** The file of each: loading all takes three times as long as loading one. */
const FILES: Readonly<Record<Name, () => Promise<CommandFile>>> = {
  demo: () => import('./commands/demo.ts'),
  init: () => import('./commands/init.ts'),
  start: () => import('./commands/start.ts'),
  doctor: () => import('./commands/doctor.ts'),
  sync: () => import('./commands/sync.ts'),
  refresh: () => import('./commands/refresh.ts'),
  backfill: () => import('./commands/backfill.ts'),
  verify: () => import('./commands/verify.ts'),
  sql: () => import('./commands/sql.ts'),
  changes: () => import('./commands/changes.ts'),
  notify: () => import('./commands/notify.ts'),
  export: () => import('./commands/export.ts'),
  describe: () => import('./commands/describe.ts'),
  mcp: () => import('./commands/mcp.ts'),
  status: () => import('./commands/status.ts'),
  why: () => import('./commands/why.ts'),
  agenda: () => import('./commands/agenda.ts'),
  quarantine: () => import('./commands/quarantine.ts'),
  accept: () => import('./commands/accept.ts'),
  undo: () => import('./commands/undo.ts'),
  close: () => import('./commands/close.ts'),
  forget: () => import('./commands/forget.ts'),
  reset: () => import('./commands/reset.ts'),
  push: () => import('./commands/push.ts'),
  webhooks: () => import('./commands/webhooks.ts'),
  grant: () => import('./commands/grant.ts'),
  fields: () => import('./commands/fields.ts'),
  migrate: () => import('./commands/migrate.ts'),
  sandbox: () => import('./commands/sandbox.ts'),
  new: () => import('./commands/new.ts'),
  completion: () => import('./commands/completion.ts'),
  'stop-db': () => import('./commands/stop-db.ts'),
  uninstall: () => import('./commands/uninstall.ts'),
};

const COMMANDS = Object.entries(GROUPS).flatMap(([group, commands]) =>
  Object.entries(commands).map(([name, description]) => ({ group, name, description, load: FILES[name as Name] })),
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
  const all = async () => (await createProgram(cli)).commands;
  const isNamed = COMMANDS.some(({ name }) => name === first);
  const isLoaded = isNamed || first === undefined;
  for (const { group, name, description, load } of COMMANDS) {
    if (isNamed && name !== first) continue;
    const command = isLoaded ? (await load()).command(cli, all) : new Command(name);
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
