import { partition } from '../coverage/list.ts';
import { sliceText } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';

/** Whether parts of the list were never read and not given up. */
export const hasUnread = (task: Task): boolean =>
  task.failure === null &&
  !task.absent &&
  !task.unanswered &&
  partition(task.resource).some(
    ({ provenAt, slice }) => provenAt === null && !task.progress.done.has(sliceText(slice)),
  );
