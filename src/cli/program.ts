import { Command, type CommanderError } from 'commander';
import { SluiceError, sentence } from '../errors.ts';
import type { Cli } from './cli.ts';

/** Loaded when they are called for: each brings what it alone needs, and all of it takes three times as long as most. */
const COMMANDS: Readonly<Record<string, (cli: Cli) => Promise<Command>>> = {
  demo: async cli => (await import('./commands/demo.ts')).demoCommand(cli),
  start: async cli => (await import('./commands/start.ts')).startCommand(cli),
  doctor: async cli => (await import('./commands/doctor.ts')).doctorCommand(cli),
  sync: async cli => (await import('./commands/sync.ts')).syncCommand(cli),
  backfill: async cli => (await import('./commands/backfill.ts')).backfillCommand(cli),
  verify: async cli => (await import('./commands/verify.ts')).verifyCommand(cli),
  status: async cli => (await import('./commands/status.ts')).statusCommand(cli),
  push: async cli => (await import('./commands/push.ts')).pushCommand(cli),
  quarantine: async cli => (await import('./commands/quarantine.ts')).quarantineCommand(cli),
  sql: async cli => (await import('./commands/sql.ts')).sqlCommand(cli),
  migrate: async cli => (await import('./commands/migrate.ts')).migrateCommand(cli),
  sandbox: async cli => (await import('./commands/sandbox.ts')).sandboxCommand(cli),
  webhooks: async cli => (await import('./commands/webhooks.ts')).webhooksCommand(cli),
  reset: async cli => (await import('./commands/reset.ts')).resetCommand(cli),
  'stop-db': async cli => (await import('./commands/stop-db.ts')).stopDbCommand(cli),
};

/** That of package.json. */
const VERSION = '0.1.0';

/** The command line; with the name of a command, that one alone. Wrong usage becomes an error of the kind `usage`. */
export async function createProgram(cli: Cli, name: string | undefined): Promise<Command> {
  const program = new Command('sluice')
    .description('Keeps a Postgres warehouse equal to a business suite that is read through its API.')
    .version(VERSION, '--version', 'print the version')
    .addHelpText(
      'after',
      '\nStart here:\n  sluice demo                see it work, with made-up data\n  sluice <command> --help    what a command does, with an example',
    );
  const only = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  for (const create of only ? [only] : Object.values(COMMANDS)) program.addCommand(await create(cli));
  for (const command of withSubcommands(program)) {
    // Its own lines about wrong usage are replaced by ours.
    command.configureOutput({ writeErr: () => undefined }).exitOverride(error => {
      throw error.exitCode === 0 ? error : usageError(command, error);
    });
  }
  return program;
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

/** What commander found wrong, and what is allowed instead. */
function usageError(command: Command, error: CommanderError): SluiceError {
  if (error.code === 'commander.help')
    return new SluiceError('usage', 'No command was given.', { next: command.helpInformation() });
  // Queries are pasted with the comment above them.
  if (error.code === 'commander.unknownOption' && /'--[^']*\s/.test(error.message))
    return new SluiceError('usage', 'What begins with -- is taken for an option.', {
      next: `A query that does so needs -- before it: ${pathOf(command)} -- "-- a comment .."`,
    });
  const message = error.message.replace(/^error: /, '').replace(/\n.*$/s, '');
  const capital = `${message[0]?.toUpperCase()}${message.slice(1)}`;
  return new SluiceError('usage', sentence(capital), {
    next: `${allowed(command, error)}See: ${pathOf(command)} --help`,
  });
}

function allowed(command: Command, { code }: CommanderError): string {
  if (code === 'commander.unknownCommand') return `Commands: ${command.commands.map(each => each.name()).join(', ')}. `;
  if (code !== 'commander.unknownOption') return '';
  if (!command.parent) return 'Options stand behind the command, as in: sluice status --json. ';
  return `Options: ${command.options.map(option => option.long ?? option.flags).join(', ')}. `;
}

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
