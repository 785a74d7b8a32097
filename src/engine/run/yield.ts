import { LANES } from '../../budget/budget.ts';
import { MINUTE } from '../../clock.ts';
import { setOrderState } from '../../warehouse/ledgers/orders.ts';
import { keepWaiting } from '../../warehouse/ledgers/runs.ts';
import type { Task } from '../task/task.ts';
import type { Loop } from './engine.ts';
import { leaveTargets } from './tasks/end-task.ts';

/** A shorter wait is not worth a reader that has to find out everything anew. */
const WORTH_MS = MINUTE;

/** Milliseconds that every reading has to wait for the request limit; null if that is short, so that the source is worth keeping. */
export function longWait({ engine, tasks }: Loop): number | null {
  // A live task behind a backfill's reading asks for nothing itself; it may go on once that has made room.
  const waits = ({ underWay }: Task) => [...underWay].some(({ room }) => !room.signal.aborted);
  const lane = LANES.find(each => tasks.some(task => task.lane === each && waits(task)));
  const left = lane === undefined ? 0 : engine.waiting.leftOf(lane);
  return left > WORTH_MS ? left : null;
}

/** Lets go of the tasks as they are: their runs wait until then, and whoever reads next goes on with them. */
export async function leaveWaiting({ engine, tasks }: Loop, waitMs: number): Promise<void> {
  const { kysely } = engine.database;
  await keepWaiting(
    kysely,
    tasks.map(task => task.runId),
    waitMs,
  );
  for (const { orderId } of tasks) if (orderId !== null) await setOrderState(kysely, orderId, ['running'], 'waiting');
  for (const task of tasks) await leaveTargets(kysely, task);
}
