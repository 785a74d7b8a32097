import { Command } from 'commander';

/** A command with the options that all commands share. `examples`: one command line each, shown by `--help`. */
export function newCommand(name: string, description: string, examples: string): Command {
  return new Command(name)
    .description(description)
    .option('--json', 'print one JSON document to stdout; logs and progress go to stderr')
    .option('--no-color', 'disable colours (or set NO_COLOR=1)')
    .option('--source <name>', 'use only this source of the sources file')
    .addHelpText('after', `\nExamples:\n${examples.replaceAll(/^/gm, '  ')}`);
}

/** For every command that sends requests. */
export const NO_WAIT = 'at the request limit, stop with exit code 75 instead of waiting; progress is kept';

export const DRY_RUN = 'print what it would cost and when it would be done; send no request and change nothing';
export const MAX_REQUESTS = 'stop with exit code 75 after <n> requests; progress is kept';
