import { isKind } from '../../errors.ts';
import { type AskedDays, isHalfOpen, needsBothDates } from '../profile/observe-filter.ts';
import { addDays, isBeyondWindows } from '../slices/date-windows.ts';
import type { Task } from '../task/task.ts';
import { unproven } from './end-of-reading.ts';
import type { Reader } from './fetch/fetch-page.ts';
import type { PageReading } from './plan-window.ts';
import { readPages } from './read-pages.ts';
import type { Step } from './step.ts';

/**
 * Reads a date window. If the source refuses one that is open on one side, the next readings send both dates. If it then refuses a long one,
 * its filter is not used any more: none could be asked for that reaches into an open past.
 */
export async function* readWindow(
  reader: Reader,
  task: Task,
  plan: PageReading,
  startedAt: string,
): AsyncGenerator<Step> {
  try {
    yield* readPages(reader, task, plan);
  } catch (error) {
    if (!isKind(error, 'refused') || plan.asked === undefined) throw error;
    const isOpen = isHalfOpen(plan.asked);
    const { resource } = task;
    const isTooLong = error.status !== 403 && resource.profile.needsBothDates && mayBeTooLong(plan.asked);
    if (!isOpen && !isTooLong) throw error;
    yield {
      resource,
      task,
      slice: plan.slice,
      rows: [],
      bad: [],
      requests: 0,
      release: () => undefined,
      learnt: [
        isOpen ? needsBothDates(error.message) : { trait: 'date filter', value: 'ignored', evidence: error.message },
      ],
      end: unproven(`the source refuses a window that is ${isOpen ? 'open on one side' : 'so long'}`, startedAt),
    };
  }
}

/** Longer than a month, and of years that any server knows. */
const mayBeTooLong = ({ from, to }: AskedDays): boolean =>
  from !== null && to !== null && !isBeyondWindows(from) && !isBeyondWindows(to) && addDays(from, 31) < to;
