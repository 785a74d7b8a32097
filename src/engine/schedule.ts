import { createTask, type ScheduledTask, type TaskContext, validate } from 'node-cron';
import { type Clock, DAY, MINUTE } from '../clock.ts';
import { explain, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Database } from '../warehouse/database.ts';
import { databaseNow } from '../warehouse/now.ts';
import { lastSlotAt, recordSlot } from '../warehouse/slots.ts';

/** How far back a missed tick is looked for at the start. Rarer schedules wait for their next tick. */
const LOOK_BACK_MS = 40 * DAY;
/** While it runs, ticks are looked for once more every minute: one that could not be recorded, or that node-cron was too busy for. */
const SWEEP_MS = MINUTE;
const SWEEP_BACK_MS = 10 * MINUTE;

/** A resource and when it is read: a cron expression of five fields in its zone. */
export interface Planned {
  readonly source: string;
  readonly resource: string;
  readonly schedule: string;
  readonly timeZone: string;
}

/**
 * Records a slot in Postgres at every tick of every schedule. The same tick is recorded once however many processes run; ticks
 * missed while none ran are caught up by one slot, at once. node-cron only says when to look: which tick it is, the database's
 * clock tells. Who reads a slot is the loop's business; `onSlot` hears of each that was recorded here.
 */
export async function startSchedule(options: {
  planned: readonly Planned[];
  database: Database;
  clock: Clock;
  log: Log;
  onSlot: (source: string) => Promise<void>;
}): Promise<{ stop(): Promise<void> }> {
  const { planned, database, clock, log, onSlot } = options;
  const record = async ({ source, resource }: Planned, task: ScheduledTask, backMs: number) => {
    const now = await databaseNow(database);
    const tick = latestTick(task, now, await lastSlotAt(database.kysely, source, resource), backMs);
    if (!tick) return;
    const recorded = await recordSlot(database.kysely, source, resource, tick);
    log.debug({ source, resource, slot: tick.toISOString(), recorded }, 'slot');
    if (recorded) await onSlot(source);
  };
  const attempt = async (each: Planned, task: ScheduledTask) => {
    try {
      await record(each, task, SWEEP_BACK_MS);
    } catch (error) {
      const { source, resource } = each;
      log.warn({ source, resource, reason: explain(error) }, 'a slot could not be recorded, and will be');
    }
  };
  const entries = planned.map(each => {
    const onTick = async ({ date }: TaskContext) => {
      // Our clock may be ahead of the database's, for which this tick is still to come.
      const early = date.getTime() - (await databaseNow(database).catch(() => Number.POSITIVE_INFINITY));
      if (early > 0 && early < MINUTE) await clock.sleep(early);
      await attempt(each, task);
    };
    const { source, resource, timeZone } = each;
    const name = `${source} ${resource}`;
    const task = createTask(cronOf(each), onTick, { timezone: timeZone, name, suppressMissedWarning: true });
    task.on('execution:missed', onTick);
    return { each, task };
  });
  for (const { each, task } of entries) await record(each, task, LOOK_BACK_MS);
  for (const { task } of entries) await task.start();
  const sweep = setInterval(() => {
    for (const { each, task } of entries) void attempt(each, task);
  }, SWEEP_MS);
  return {
    async stop() {
      clearInterval(sweep);
      for (const { task } of entries) await task.destroy();
    },
  };
}

function cronOf({ source, resource, schedule }: Planned): string {
  if (validate(schedule)) return schedule;
  throw new SluiceError('configuration', `The schedule of ${resource} (source ${source}) is "${schedule}".`, {
    next: 'Expected: five fields such as */15 * * * * (minute, hour, day, month, day of week), or off.',
  });
}

/** The newest tick up to `now` that is later than `last`; at the very first start, now itself. */
export function latestTick(
  task: Pick<ScheduledTask, 'match'>,
  now: number,
  last: number | null,
  backMs: number = LOOK_BACK_MS,
): Date | null {
  const minute = Math.floor(now / MINUTE) * MINUTE;
  if (last === null) return new Date(minute);
  const oldest = Math.max(last, minute - backMs);
  for (let at = minute; at > oldest; at -= MINUTE) {
    if (task.match(new Date(at))) return new Date(at);
  }
  return null;
}
