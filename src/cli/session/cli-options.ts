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
