import { Command } from 'commander';
import type { Job } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';
import { didYouMean } from '../../nearest-name.ts';

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

/** A parser for a numeric option. It throws the kind `usage` for anything but a whole number in the range. */
export function wholeNumber(flag: string, least: number, most: number): (text: string) => number {
  return text => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new SluiceError('usage', `${flag} ${text} is not valid.`, {
      next: `Expected: a whole number from ${least} to ${most}.`,
    });
  };
}

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
