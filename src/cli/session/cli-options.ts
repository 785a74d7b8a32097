import { type Job, slicingOf } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';

/** The named resources, each once; all resources if none is named. Kind `usage` for an unknown one. */
export function selectResources(jobs: ReadonlyMap<string, Job>, names: readonly string[]): string[] {
  for (const name of names) {
    if (jobs.has(name)) continue;
    throw new SluiceError('usage', `Unknown resource "${name}".`, {
      next: `Resources: ${[...jobs.keys()].join(', ')}.`,
    });
  }
  return names.length === 0 ? [...jobs.keys()] : [...new Set(names)];
}

export interface Range {
  readonly from: string | null;
  readonly to: string | null;
}

/** `--from` and `--to`, both inclusive. Kind `usage` for an invalid date, a reversed range or a resource without dates. */
export function parseRange(
  jobs: ReadonlyMap<string, Job>,
  resource: string,
  given: { from?: string; to?: string },
): Range {
  const job = jobs.get(resource);
  const range = { from: parseDate('--from', given.from), to: parseDate('--to', given.to) };
  if ((range.from ?? range.to) !== null && job && !slicingOf(job, 'date')) {
    const dated = [...jobs].filter(([, other]) => slicingOf(other, 'date')).map(([name]) => name);
    throw new SluiceError('usage', `${resource} has no dates, so --from and --to do not apply.`, {
      next: `Omit them to read all of ${resource}. Resources with dates: ${dated.join(', ')}.`,
    });
  }
  if (range.from !== null && range.to !== null && range.from > range.to)
    throw new SluiceError('usage', `--from ${range.from} is after --to ${range.to}.`, {
      next: 'Both days are inclusive.',
    });
  return range;
}

function parseDate(flag: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // February 30th parses, as a day in March.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text || text < '0001-01-01')
    throw new SluiceError('usage', `${flag} ${text} is not a valid date.`, {
      next: 'Expected: YYYY-MM-DD, e.g. 2025-01-31.',
    });
  return text;
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
