import { createTask, type ScheduledTask, type TaskContext } from 'node-cron';
import { DAY, MINUTE } from '../clock.ts';
import { explain } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Database } from '../warehouse/database.ts';
import { databaseNow } from '../warehouse/now.ts';
import { lastSlotAt, recordSlot } from '../warehouse/slots.ts';
import type { Resource } from './resource.ts';

/** How far back a missed tick is looked for. Rarer schedules wait for their next tick. */
const LOOK_BACK_MS = 40 * DAY;

/**
 * Records a slot in Postgres at every tick of every resource's schedule (UTC). The same tick is recorded once however many
 * processes run; ticks missed while none ran are caught up by one slot, at once. Who reads a slot is the loop's business.
 */
export async function startSchedule(options: {
  source: string;
  resources: readonly Pick<Resource, 'name' | 'job'>[];
  database: Database;
  log: Log;
}): Promise<{ stop(): Promise<void> }> {
  const { source, resources, database, log } = options;
  const tasks: ScheduledTask[] = [];
  for (const { name, job } of resources) {
    const record = async (at: Date) => {
      const recorded = await recordSlot(database.kysely, source, name, minuteOf(at));
      log.debug({ resource: name, slot: minuteOf(at).toISOString(), recorded }, 'slot');
    };
    const onTick = async ({ date }: TaskContext) => {
      try {
        await record(date);
      } catch (error) {
        // The next tick, or the catch-up after it, brings what this one could not record.
        log.warn({ resource: name, reason: explain(error) }, 'a slot could not be recorded');
      }
    };
    const task = createTask(job.schedule, onTick, {
      timezone: 'UTC',
      name: `${source} ${name}`,
      suppressMissedWarning: true,
    });
    task.on('execution:missed', onTick);
    tasks.push(task);
    const missed = latestTick(task, await databaseNow(database), await lastSlotAt(database.kysely, source, name));
    if (missed) await record(missed);
  }
  for (const task of tasks) await task.start();
  return {
    async stop() {
      for (const task of tasks) await task.destroy();
    },
  };
}

/** The newest tick up to `now` that is later than `last`; at the very first start, now itself. */
export function latestTick(task: Pick<ScheduledTask, 'match'>, now: number, last: number | null): Date | null {
  const minute = minuteOf(new Date(now)).getTime();
  if (last === null) return new Date(minute);
  const oldest = Math.max(last, minute - LOOK_BACK_MS);
  for (let at = minute; at > oldest; at -= MINUTE) {
    if (task.match(new Date(at))) return new Date(at);
  }
  return null;
}

const minuteOf = (at: Date): Date => new Date(Math.floor(at.getTime() / MINUTE) * MINUTE);
