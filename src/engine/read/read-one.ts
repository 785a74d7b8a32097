import { slicingOf } from '../job.ts';
import type { Slice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import type { Reader } from './fetch-page.ts';
import type { Step } from './step.ts';

/** Reads one row by its key. A 404 proves that it was deleted. */
export async function* readOne(reader: Reader, task: Task, slice: Extract<Slice, { by: 'one' }>): AsyncGenerator<Step> {
  const { resource } = task;
  const slicing = slicingOf(resource.job, 'one');
  if (!slicing) throw new Error(`${resource.name} cannot be asked for one row`);
  const { value: answer, release } = await reader.admit(() =>
    reader.client.get(slicing.path.replace('{key}', encodeURIComponent(slice.key)), {
      lane: task.lane,
      purpose: `${resource.name} one ${slice.key}`,
      runId: task.runId,
      signal: reader.signal,
    }),
  );
  const step = { resource, task, slice, requests: answer.requests, release };
  if (answer.kind === 'gone') {
    yield { ...step, rows: [], bad: [], end: { kind: 'gone', key: slice.key, at: answer.grantedAt } };
    return;
  }
  const parsed = resource.parse(answer.record, answer.grantedAt, answer.replaced);
  const end = { kind: 'targeted', complete: true, startedAt: answer.grantedAt } as const;
  yield 'row' in parsed ? { ...step, rows: [parsed.row], bad: [], end } : { ...step, rows: [], bad: [parsed.bad], end };
}
