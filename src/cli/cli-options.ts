import { type Job, slicingOf } from '../engine/job.ts';
import { SluiceError } from '../errors.ts';

/** The resources named, each once; all of them where none is. Kind `usage` for one there is no job for. */
export function chosenResources(jobs: ReadonlyMap<string, Job>, names: readonly string[]): string[] {
  for (const name of names) {
    if (jobs.has(name)) continue;
    throw new SluiceError('usage', `There is no resource "${name}".`, {
      next: `Resources: ${[...jobs.keys()].join(', ')}.`,
    });
  }
  return names.length === 0 ? [...jobs.keys()] : [...new Set(names)];
}

export interface Range {
  readonly from: string | null;
  readonly to: string | null;
}

/** `--from` and `--to`, both inclusive. Kind `usage` where they are no dates, crossed, or the resource has none. */
export function chosenRange(
  jobs: ReadonlyMap<string, Job>,
  resource: string,
  given: { from?: string; to?: string },
): Range {
  const job = jobs.get(resource);
  const range = { from: date('--from', given.from), to: date('--to', given.to) };
  if ((range.from ?? range.to) !== null && job && !slicingOf(job, 'date')) {
    const dated = [...jobs].filter(([, other]) => slicingOf(other, 'date')).map(([name]) => name);
    throw new SluiceError('usage', `${resource} has no dates to choose by, so --from and --to do not apply.`, {
      next: `Leave them out to read all of ${resource}; resources with dates: ${dated.join(', ')}.`,
    });
  }
  if (range.from !== null && range.to !== null && range.from > range.to)
    throw new SluiceError('usage', `--from ${range.from} is after --to ${range.to}.`, {
      next: 'Both days are included.',
    });
  return range;
}

function date(flag: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // February 30th parses, as a day in March.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text || text < '0001-01-01')
    throw new SluiceError('usage', `${flag} ${text} is no date.`, { next: 'Expected: YYYY-MM-DD, e.g. 2025-01-31.' });
  return text;
}

/** A number option. Kind `usage` with the range when it is none. */
export function wholeNumber(flag: string, least: number, most: number): (text: string) => number {
  return text => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new SluiceError('usage', `${flag} ${text} is not possible.`, {
      next: `Expected: a whole number from ${least} to ${most}.`,
    });
  };
}
