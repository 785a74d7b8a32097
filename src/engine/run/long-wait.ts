import { LANES } from '../../budget/budget.ts';
import { MINUTE } from '../../clock.ts';
import { setOrderState } from '../../warehouse/ledgers/orders.ts';
import { keepWaiting } from '../../warehouse/ledgers/runs.ts';
import type { Task } from '../task/task.ts';
import type { Loop } from './engine.ts';
import { leaveTargets } from './tasks/end-task.ts';

/** A shorter wait is not worth releasing the source: the next loop must load its state anew. */
const WORTH_MS = MINUTE;

/** The tasks that may be reading, those of the agenda included. */
export const readingTasks = ({ tasks, agenda }: Loop): Task[] => [
  ...tasks,
  ...new Set([...(agenda?.asking.keys() ?? [])].map(({ task }) => task)),
];

/** Milliseconds until the request limit allows any reading to continue; null if that is soon, so that the source is kept. */
export function longWait(loop: Loop): number | null {
  const { engine } = loop;
  const tasks = readingTasks(loop);
  // A live task blocked by a backfill sends no request itself. It may continue once the backfill makes room.
  const waits = ({ underWay }: Task) => [...underWay].some(({ stopAsking }) => !stopAsking.signal.aborted);
  const lane = LANES.find(each => tasks.some(task => task.lane === each && waits(task)));
  const left = lane === undefined ? 0 : engine.waiting.leftOf(lane);
  return left > WORTH_MS ? left : null;
}

/** Leaves the tasks as they are. Their runs wait for `waitMs`, and the next loop continues them. */
export async function leaveWaiting({ engine, tasks }: Loop, waitMs: number): Promise<void> {
  const { kysely } = engine.database;
  const runIds = tasks.map(task => task.runId);
  await keepWaiting(kysely, runIds, waitMs);
  for (const { orderId } of tasks) if (orderId !== null) await setOrderState(kysely, orderId, ['running'], 'waiting');
  for (const task of tasks) await leaveTargets(kysely, task);
}
