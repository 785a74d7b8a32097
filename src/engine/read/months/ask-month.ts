import type { BadRecord } from '../../../warehouse/rows/quarantine.ts';
import type { Row } from '../../../warehouse/rows/write/row.ts';
import { slicingOf } from '../../job.ts';
import type { Observation } from '../../profile/observation.ts';
import { type Slice, sliceText } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';
import { orAbsent } from '../fetch/absent-list.ts';
import type { Reader } from '../fetch/fetch-page.ts';
import type { Step } from '../step.ts';

/** What the source said of one month. */
export interface MonthAnswer {
  readonly month: string;
  /** It answered that there is no such address. */
  readonly isGone: boolean;
  /** All its sums are zero. */
  readonly isEmpty: boolean;
  readonly rows: readonly Row[];
  readonly bad: readonly BadRecord[];
  readonly grantedAt: string;
  readonly release: () => void;
  /** All of the step but its rows. */
  readonly step: Omit<Step, 'rows'>;
}

const ONE_A_MONTH: Observation = {
  trait: 'page size',
  value: '1',
  evidence: 'the source answers for one month at a time',
};

/** Asks for the sums of one month (`YYYY-MM`). */
export async function askMonth(reader: Reader, task: Task, slice: Slice, month: string): Promise<MonthAnswer> {
  const { resource } = task;
  const { job, name } = resource;
  const { slicing, named } = monthOf(task, month);
  const ask = () =>
    reader.client.get(
      job.path,
      { lane: task.lane, purpose: `${name} ${sliceText(slice)}`, runId: task.runId, signal: reader.signal },
      slicing.query(...named),
    );
  const { value: answer, release } = await reader.admit(ask).catch(error => {
    throw orAbsent(resource, error);
  });
  const given = slicing.fields(...named);
  const parsed = answer.kind === 'one' ? resource.parse({ ...answer.record, ...given }, answer.grantedAt) : null;
  const rows = parsed && 'row' in parsed ? [parsed.row] : [];
  const bad = parsed && 'bad' in parsed ? [parsed.bad] : [];
  return {
    month,
    isGone: answer.kind === 'gone',
    isEmpty: bad.length === 0 && rows.every(row => isZero(row, given)),
    rows,
    bad,
    grantedAt: answer.grantedAt,
    release,
    step: {
      ...{ resource, task, slice, bad, release },
      requests: answer.requests,
      learnt: resource.profile.pageSize !== null ? [] : [ONE_A_MONTH],
    },
  };
}

/** The key of the row of a month (`YYYY-MM`). */
export function monthKey(task: Task, month: string): string {
  const { slicing, named } = monthOf(task, month);
  return slicing.fields(...named)[task.resource.job.key] ?? '';
}

function monthOf({ resource: { job, name } }: Task, month: string) {
  const slicing = slicingOf(job, 'month');
  if (!slicing) throw new Error(`${name} has no months`);
  const [year = '', number = ''] = month.split('-');
  return { slicing, named: [year, String(Number(number))] as const };
}

const isZero = ({ values }: Row, given: Readonly<Record<string, string>>): boolean =>
  Object.entries(values).every(([name, value]) => name in given || value === null || value === '0');
