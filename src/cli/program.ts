import { Command, type CommanderError } from 'commander';
import { capitalized, SluiceError, sentence } from '../errors.ts';
import { didYouMean } from '../nearest-name.ts';
import { VERSION } from '../version.ts';
import type { Cli } from './session/session.ts';

/** Loaded on demand: loading all commands takes three times as long as loading one. */
const COMMANDS: Readonly<Record<string, (cli: Cli) => Promise<Command>>> = {
  demo: async cli => (await import('./commands/demo.ts')).demoCommand(cli),
  init: async cli => (await import('./commands/init.ts')).initCommand(cli),
  start: async cli => (await import('./commands/start.ts')).startCommand(cli),
  doctor: async cli => (await import('./commands/doctor.ts')).doctorCommand(cli),
  sync: async cli => (await import('./commands/sync.ts')).syncCommand(cli),
  refresh: async cli => (await import('./commands/refresh.ts')).refreshCommand(cli),
  backfill: async cli => (await import('./commands/backfill.ts')).backfillCommand(cli),
  verify: async cli => (await import('./commands/verify.ts')).verifyCommand(cli),
  status: async cli => (await import('./commands/status.ts')).statusCommand(cli),
  agenda: async cli => (await import('./commands/agenda.ts')).agendaCommand(cli),
  push: async cli => (await import('./commands/push.ts')).pushCommand(cli),
  accept: async cli => (await import('./commands/accept.ts')).acceptCommand(cli),
  undo: async cli => (await import('./commands/undo.ts')).undoCommand(cli),
  close: async cli => (await import('./commands/close.ts')).closeCommand(cli),
  quarantine: async cli => (await import('./commands/quarantine.ts')).quarantineCommand(cli),
  why: async cli => (await import('./commands/why.ts')).whyCommand(cli),
  sql: async cli => (await import('./commands/sql.ts')).sqlCommand(cli),
  export: async cli => (await import('./commands/export.ts')).exportCommand(cli),
  mcp: async cli => (await import('./commands/mcp.ts')).mcpCommand(cli),
  grant: async cli => (await import('./commands/grant.ts')).grantCommand(cli),
  migrate: async cli => (await import('./commands/migrate.ts')).migrateCommand(cli),
  sandbox: async cli => (await import('./commands/sandbox.ts')).sandboxCommand(cli),
  webhooks: async cli => (await import('./commands/webhooks.ts')).webhooksCommand(cli),
  reset: async cli => (await import('./commands/reset.ts')).resetCommand(cli),
  forget: async cli => (await import('./commands/forget.ts')).forgetCommand(cli),
  new: async cli => (await import('./commands/new.ts')).newResourceCommand(cli),
  completion: async cli =>
    (await import('./commands/completion.ts')).completionCommand(
      cli,
      async () => (await createProgram(cli, undefined)).commands,
    ),
  'stop-db': async cli => (await import('./commands/stop-db.ts')).stopDbCommand(cli),
  uninstall: async cli => (await import('./commands/uninstall.ts')).uninstallCommand(cli),
};

/** The command line; only the named command, if `name` is one. Wrong usage throws the kind `usage`. */
export async function createProgram(cli: Cli, name: string | undefined): Promise<Command> {
  const program = new Command('sluice')
    .description('Keeps a Postgres warehouse equal to a business suite by reading its REST API.')
    .version(VERSION, '--version', 'print the version')
    .addHelpText(
      'after',
      '\nStart here:\n  sluice demo                see Sluice at work on made-up data\n  sluice <command> --help    options and examples of a command',
    );
  const only = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  const needed = name === '--version' ? [] : only ? [only] : Object.values(COMMANDS);
  for (const create of needed) program.addCommand(await create(cli));
  for (const command of withSubcommands(program)) {
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
