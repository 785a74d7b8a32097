import { Argument, type Command } from 'commander';
import { type Completable, completionScript, SHELLS, type Shell } from '../completion/completion-scripts.ts';
import { newCommand } from '../session/new-command.ts';
import type { Cli } from '../session/session.ts';

const EXAMPLES = `sluice completion bash > /etc/bash_completion.d/sluice
sluice completion zsh > "\${fpath[1]}/_sluice"
sluice completion fish > ~/.config/fish/completions/sluice.fish`;

/** `all`: every command. */
export function completionCommand(cli: Cli, all: () => Promise<readonly Command[]>): Command {
  return newCommand(
    'completion',
    'Print a script that makes a shell complete commands, options and resources',
    EXAMPLES,
  )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(
      cli.action({ source: false }, async ({ terminal, jobs }, shell: Shell) => {
        const commands = (await all()).map(command => completable(command, [...jobs.keys()]));
        terminal.show({ shell, script: completionScript(shell, commands) }, () => completionScript(shell, commands));
        return 0;
      }),
    );
}

function completable(command: Command, resources: readonly string[]): Completable {
  const namesResource = command.registeredArguments.some(argument => /^resources?$/.test(argument.name()));
  return {
    name: command.name(),
    description: command.description(),
    words: [
      ...command.commands.map(sub => sub.name()).filter(name => name !== 'help'),
      ...(namesResource ? resources : []),
    ],
    options: command.options.flatMap(({ long, description }) => (long ? [{ flag: long, description }] : [])),
  };
}
