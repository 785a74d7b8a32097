import { isKind } from '../../errors.ts';
import type { OneAnswer } from '../../source/client.ts';
import { slicingOf } from '../job.ts';
import { deletionMark, hidesDeletion } from '../profile/observe-address.ts';
import type { Slice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import type { Reader } from './fetch-page.ts';
import type { Step } from './step.ts';

/**
 * Reads one row by its key. A 404 proves that it was deleted. An address that says anything else of a deleted row proves nothing, and
 * is not asked again.
 */
export async function* readOne(
  reader: Reader,
  task: Task,
  slice: Extract<Slice, { by: 'one' }>,
  startedAt: string,
): AsyncGenerator<Step> {
  const { resource } = task;
  const { answer, release } = await fetchOne(reader, task, slice, startedAt);
  const { requests, grantedAt } = answer;
  const step = { resource, task, slice, requests, release, rows: [], bad: [] };
  const end = { kind: 'targeted', complete: true, startedAt: grantedAt } as const;
  const mark = answer.kind === 'one' ? deletionMark(answer.record) : null;
  const instead = answer.kind === 'gone' ? answer.instead : (mark ?? undefined);
  if (instead !== undefined) yield { ...step, end, learnt: [hidesDeletion(slice.key, instead)] };
  else if (answer.kind === 'gone') yield { ...step, end: { kind: 'gone', key: slice.key, at: grantedAt } };
  else {
    const parsed = resource.parse(answer.record, grantedAt, { replaced: answer.replaced });
    yield 'row' in parsed ? { ...step, rows: [parsed.row], end } : { ...step, bad: [parsed.bad], end };
  }
}

async function fetchOne(
  reader: Reader,
  { resource, lane, runId }: Task,
  { key }: Extract<Slice, { by: 'one' }>,
  startedAt: string,
): Promise<{ answer: OneAnswer; release: () => void }> {
  const slicing = slicingOf(resource.job, 'one');
  if (!slicing) throw new Error(`${resource.name} cannot be asked for one row`);
  const path = slicing.path.replace('{key}', encodeURIComponent(key));
  const context = { lane, purpose: `${resource.name} one ${key}`, runId, signal: reader.signal };
  try {
    const { value: answer, release } = await reader.admit(() => reader.client.get(path, context));
    return { answer, release };
  } catch (error) {
    if (!isKind(error, 'refused') || error.status === 403) throw error;
    // The list shows the others, so it is this row that the source cannot answer for.
    const gone = { kind: 'gone', instead: error.message, grantedAt: startedAt, requests: 0 } as const;
    return { answer: gone, release: () => undefined };
  }
}
