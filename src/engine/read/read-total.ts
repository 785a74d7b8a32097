import { isKind } from '../../errors.ts';
import { sliceText, type TotalSlice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import type { Reader } from './fetch/fetch-page.ts';
import type { Step } from './step.ts';

/** Reads the source's totals for a month. If it has none, or hides them from this key, they are not requested again. */
export async function* readTotal(reader: Reader, task: Task, slice: TotalSlice): AsyncGenerator<Step> {
  const { resource } = task;
  const { control } = resource.job;
  if (!control) throw new Error(`${resource.name} has no control totals`);
  const step = { resource, task, slice, rows: [], bad: [], requests: 1, release: () => undefined };
  const refused = (evidence: string): Step => ({
    ...step,
    learnt: [{ trait: 'control totals', value: 'absent', evidence }],
  });
  try {
    const { value: answer, release } = await reader.admit(() =>
      reader.client.get(
        control.path,
        {
          lane: task.lane,
          purpose: `${resource.name} ${sliceText(slice)}`,
          runId: task.runId,
          signal: reader.signal,
          attempts: 2,
        },
        control.query(slice.month),
      ),
    );
    const answered = { ...step, requests: answer.requests, release };
    if (answer.kind === 'gone') yield { ...answered, ...refused(`there is no ${control.path}`), release };
    else yield { ...answered, end: { kind: 'total', said: answer.record, startedAt: answer.grantedAt } };
  } catch (error) {
    // Nothing depends on totals: after an outage they are requested some other time.
    if (isKind(error, 'unavailable')) return;
    if (!isKind(error, 'refused')) throw error;
    yield refused(`${control.path}: ${error.message}`);
  }
}
