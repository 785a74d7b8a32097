import { type Job, slicingOf } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';

/** Days of an order, both inclusive; null: no bound. */
export interface Range {
  readonly from: string | null;
  readonly to: string | null;
}

/**
 * Kind `usage` for an invalid date, a reversed range or a resource without dates. `names`: what people call the two days, the flags of a
 * command or the fields of a form.
 */
export function parseRange(
  jobs: ReadonlyMap<string, Job>,
  resource: string,
  given: { from?: string | undefined; to?: string | undefined },
  names = { from: '--from', to: '--to' },
): Range {
  const job = jobs.get(resource);
  const range = { from: parseDate(names.from, given.from), to: parseDate(names.to, given.to) };
  if ((range.from ?? range.to) !== null && job && !slicingOf(job, 'date')) {
    const dated = [...jobs].filter(([, other]) => slicingOf(other, 'date')).map(([name]) => name);
    throw new SluiceError('usage', `${resource} has no dates, so ${names.from} and ${names.to} do not apply.`, {
      next: `Omit them to read all of ${resource}. Resources with dates: ${dated.join(', ')}.`,
    });
  }
  if (range.from !== null && range.to !== null && range.from > range.to)
    throw new SluiceError('usage', `${names.from} ${range.from} is after ${names.to} ${range.to}.`, {
      next: 'Both days are inclusive.',
    });
  return range;
}

function parseDate(name: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // February 30th parses, as a day in March.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text || text < '0001-01-01')
    throw new SluiceError('usage', `${name} ${text} is not a valid date.`, {
      next: 'Expected: YYYY-MM-DD, e.g. 2025-01-31.',
    });
  return text;
}

export const rangeText = ({ from, to }: { from: string | null; to: string | null }): string =>
  from === null && to === null ? 'everything' : `${from ?? 'beginning'} .. ${to ?? 'end'}`;
