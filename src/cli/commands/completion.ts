import { Argument, type Command } from 'commander';
import { shellWord } from '../../next-steps.ts';
import { type Cli, newCommand } from '../session/session.ts';

const EXAMPLES = `sluice completion bash > /etc/bash_completion.d/sluice
sluice completion zsh > "\${fpath[1]}/_sluice"
sluice completion fish > ~/.config/fish/completions/sluice.fish`;

export function command(cli: Cli, all: () => Promise<readonly Command[]>): Command {
  return newCommand('completion', EXAMPLES)
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(
      cli.action({ source: false }, async ({ terminal, jobs }, shell: Shell) => {
        const commands = (await all()).map(command => completable(command, [...jobs.keys()]));
        const script = SCRIPTS[shell](commands);
        terminal.show({ shell, script }, () => script);
        return 0;
      }),
    );
}

/** What can be typed behind a command. */
function completable(command: Command, resources: readonly string[]) {
  const namesResource = command.registeredArguments.some(argument => /^resources?$/.test(argument.name()));
  return {
    name: command.name(),
    description: command.description(),
    // Subcommands, and the resources where one can be named.
    words: [
      ...command.commands.map(sub => sub.name()).filter(name => name !== 'help'),
      ...(namesResource ? resources : []),
    ],
    options: command.options.flatMap(({ long, description }) => (long ? [{ flag: long, description }] : [])),
  };
}

type Completable = ReturnType<typeof completable>;

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Completable[]) => string>> = { bash, zsh, fish };

const wordsOf = ({ words, options }: Completable): string => [...words, ...options.map(({ flag }) => flag)].join(' ');

function bash(commands: readonly Completable[]): string {
  return `# sluice completion bash > /etc/bash_completion.d/sluice
_sluice() {
  local current=\${COMP_WORDS[COMP_CWORD]} words
  case \${COMP_WORDS[1]} in
${commands.map(command => `    ${command.name}) words="${wordsOf(command)}" ;;`).join('\n')}
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="${commands.map(({ name }) => name).join(' ')} --help --version"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _sluice sluice`;
}

function zsh(commands: readonly Completable[]): string {
  return `#compdef sluice
# sluice completion zsh > "\${fpath[1]}/_sluice"
_sluice() {
  if (( CURRENT == 2 )); then
    local -a commands=(
${commands.map(({ name, description }) => `      ${shellWord(`${name}:${description}`)}`).join('\n')}
    )
    _describe command commands
    return
  fi
  case $words[2] in
${commands.map(command => `    ${command.name}) compadd -- ${wordsOf(command)} ;;`).join('\n')}
  esac
  _files
}
_sluice "$@"`;
}

function fish(commands: readonly Completable[]): string {
  return [
    '# sluice completion fish > ~/.config/fish/completions/sluice.fish',
    ...commands.flatMap(({ name, description, words, options }) => [
      `complete -c sluice -n __fish_use_subcommand -a ${name} -d ${shellWord(description)}`,
      ...(words.length > 0
        ? [`complete -c sluice -n '__fish_seen_subcommand_from ${name}' -a '${words.join(' ')}'`]
        : []),
      ...options.map(
        option =>
          `complete -c sluice -n '__fish_seen_subcommand_from ${name}' -l ${option.flag.slice(2)} -d ${shellWord(option.description)}`,
      ),
    ]),
  ].join('\n');
}
