import { DAY } from '../../clock.ts';
import { meaningOf } from '../../engine/changes/drift-notice.ts';
import { childShape, type Job } from '../../engine/job.ts';
import { allNews, type FieldNews, parseDrift } from '../../engine/profile/field-drift.ts';
import type { Trait } from '../../warehouse/ledgers/traits.ts';
import { moment } from '../format.ts';

/** How long a field that appeared or vanished is shown: by then people know, or have declared it. */
const SHOWN_MS = 30 * DAY;

/** A field of a list that appeared or vanished. */
export interface DriftedField extends Omit<FieldNews, 'since'> {
  readonly resource: string;
  /** In ISO 8601. */
  readonly since: string;
  /** In words. */
  readonly meaning: string;
}

/** By list, the newest first. `now`: epoch milliseconds. */
export function driftedFields(
  traits: readonly Trait[],
  jobs: ReadonlyMap<string, Job>,
  now: number,
): readonly DriftedField[] {
  return traits.flatMap(({ resource, trait, value }) => {
    const job = jobs.get(resource);
    if (trait !== 'drift' || job === undefined) return [];
    return allNews(parseDrift(value))
      .filter(({ field, kind, since }) => now - since < SHOWN_MS && isDeclared(job, field) === (kind === 'vanished'))
      .map(news => ({
        resource,
        ...news,
        since: new Date(news.since).toISOString(),
        meaning: meaningOf(resource, job, news),
      }));
  });
}

/** The job may have changed since. */
const isDeclared = (job: Job, name: string): boolean =>
  Object.hasOwn(job.record.shape, name) ||
  Object.keys(job.children).some(field =>
    Object.keys(childShape(job, field)).some(inner => `${field}.${inner}` === name),
  );

/** `invoices.amount_v2: new field since 2026-01-15 10:00:05`. */
export const driftLine = ({ resource, field, kind, since }: DriftedField, timeZone: string): string =>
  `${resource}.${field}: ${kind} field since ${moment(since, timeZone)}`;
