import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { ScheduledTask } from 'node-cron';
import { DAY, MINUTE } from '../../clock.ts';

/** How far back a missed tick is looked for. Rarer schedules wait for their next tick. */
export const LOOK_BACK_MS = 40 * DAY;
/** Takes about 10 ms. Without pauses, rare schedules of many sources would block the process for minutes. */
const MINUTES_PER_BATCH = 200;

/** The newest tick up to `now` that is later than `last`; at the very first start, the current minute. All in epoch milliseconds. */
export async function latestTick(
  task: Pick<ScheduledTask, 'match'>,
  now: number,
  last: number | null,
  backMs: number = LOOK_BACK_MS,
): Promise<Date | null> {
  const minute = Math.floor(now / MINUTE) * MINUTE;
  if (last === null) return new Date(minute);
  const oldest = Math.max(last, minute - backMs);
  let looked = 0;
  for (let at = minute; at > oldest; at -= MINUTE) {
    if (task.match(new Date(at))) return new Date(at);
    if (++looked % MINUTES_PER_BATCH === 0) await yieldToOthers();
  }
  return null;
}
