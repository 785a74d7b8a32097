import { isKind } from '../../errors.ts';
import { isHalfOpen, needsBothDates } from '../profile/observe-filter.ts';
import type { Task } from '../task/task.ts';
import { unproven } from './end-of-reading.ts';
import type { Reader } from './fetch-page.ts';
import { readPages } from './read-pages.ts';
import type { Step } from './step.ts';
import type { PageReading } from './window-reading.ts';

/** Reads a date window. If the source refuses one that is open on one side, the next readings send both dates. */
export async function* readWindow(
  reader: Reader,
  task: Task,
  plan: PageReading,
  startedAt: string,
): AsyncGenerator<Step> {
  try {
    yield* readPages(reader, task, plan);
  } catch (error) {
    const isRefused = isKind(error, 'refused') && plan.asked !== undefined && isHalfOpen(plan.asked);
    if (!isRefused) throw error;
    const { resource } = task;
    yield {
      resource,
      task,
      slice: plan.slice,
      rows: [],
      bad: [],
      requests: 0,
      release: () => undefined,
      learnt: [needsBothDates(error.message)],
      end: unproven('the source refuses a window that is open on one side', startedAt),
    };
  }
}
