import type { Config } from '../../config/config.ts';
import type { Job } from '../../engine/job.ts';
import { childShape } from '../../engine/records/parse-record.ts';
import { plainName } from '../../engine/records/secret-names.ts';
import { SluiceError } from '../../errors.ts';

/** Throws the kind `configuration` if a field that must not be stored has a column: it would be stored. */
export function checkNever({ sources }: Pick<Config, 'sources'>, jobs: ReadonlyMap<string, Job>): void {
  for (const { name: source, settings } of sources) {
    for (const field of settings?.never ?? []) {
      const resources = [...jobs].filter(([, job]) => columnsOf(job).has(plainName(field))).map(([name]) => name);
      if (resources.length === 0) continue;
      throw new SluiceError(
        'configuration',
        `SOURCE_NEVER (never in the sources file) of the source ${source} names "${field}", which is a column of ${resources.join(', ')}.`,
        { next: 'Name only fields without a column of their own. Nothing was started.' },
      );
    }
  }
}

const columnsOf = (job: Job): ReadonlySet<string> =>
  new Set(
    [
      ...Object.keys(job.record.shape),
      ...Object.keys(job.children).flatMap(field => Object.keys(childShape(job, field))),
    ].map(plainName),
  );
