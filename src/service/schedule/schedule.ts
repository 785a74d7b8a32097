import { createTask, type ScheduledTask, type TaskContext, validate } from 'node-cron';
import { type Clock, MINUTE } from '../../clock.ts';
import { explain, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { lastSlotAt, recordSlot } from '../../warehouse/ledgers/slots.ts';
import { LOOK_BACK_MS, latestTick } from './latest-tick.ts';

/** Ticks are looked for once more every minute: one may not have been recorded, or node-cron may have been too busy for it. */
const SWEEP_MS = MINUTE;
/** How far back each sweep looks at least; farther where looking has failed for longer. */
const SWEEP_BACK_MS = 10 * MINUTE;

/** When a resource is read: a cron expression of five fields in a time zone. */
export interface Planned {
  readonly source: string;
  readonly resource: string;
  readonly schedule: string;
  readonly timeZone: string;
}

export interface ScheduleOptions {
  readonly planned: readonly Planned[];
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for each slot that this process recorded. */
  readonly onSlot: (source: string) => Promise<void>;
}

/**
 * Records a slot in Postgres at every tick of every schedule: once for each tick, however many processes run. Ticks missed while
 * none ran are caught up by one slot at the start. node-cron only says when to look; the database's clock decides which tick it is.
 */
export async function startSchedule(options: ScheduleOptions): Promise<{ stop(): Promise<void> }> {
  const { planned, database, clock } = options;
  const recorder = createRecorder(options);
  const entries = planned.map(each => {
    const onTick = async ({ date }: TaskContext) => {
      // This machine's clock may be ahead of the database's, for which the tick is still to come.
      const earlyMs = date.getTime() - (await databaseNow(database).catch(() => Number.POSITIVE_INFINITY));
      if (earlyMs > 0 && earlyMs < MINUTE) await clock.sleep(earlyMs);
      await recorder.tryRecord(entry);
    };
    const { source, resource, timeZone } = each;
    const name = `${source} ${resource}`;
    const task = createTask(cronOf(each), onTick, { timezone: timeZone, name, suppressMissedWarning: true });
    task.on('execution:missed', onTick);
    const entry: Entry = { each, task, lookedAt: Number.NEGATIVE_INFINITY };
    return entry;
  });
  for (const entry of entries) await recorder.record(entry);
  for (const { task } of entries) await task.start();
  const stopping = new AbortController();
  const sweep = async () => {
    for (;;) {
      await clock.sleep(SWEEP_MS, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      await Promise.all(entries.map(recorder.tryRecord));
    }
  };
  const sweeping = sweep();
  return {
    async stop() {
      stopping.abort();
      await sweeping;
      for (const { task } of entries) await task.destroy();
    },
  };
}

/** One schedule at work. */
interface Entry {
  readonly each: Planned;
  readonly task: ScheduledTask;
  /** The database's time when a tick was last looked for without an error. */
  lookedAt: number;
}

function createRecorder({ database, log, onSlot }: ScheduleOptions) {
  let failing = false;
  /** Records the newest tick, if it has no slot yet. */
  const record = async (entry: Entry) => {
    const { source, resource } = entry.each;
    const now = await databaseNow(database);
    const backMs = Math.min(Math.max(now - entry.lookedAt, SWEEP_BACK_MS), LOOK_BACK_MS);
    const tick = await latestTick(entry.task, now, await lastSlotAt(database.kysely, source, resource), backMs);
    const recorded = tick !== null && (await recordSlot(database.kysely, source, resource, tick));
    entry.lookedAt = now;
    if (tick) log.debug({ source, resource, slot: tick.toISOString(), recorded }, 'slot');
    if (recorded) await onSlot(source);
  };
  const tryRecord = async (entry: Entry) => {
    try {
      await record(entry);
      failing = false;
    } catch (error) {
      const { source, resource } = entry.each;
      // While the database is away this repeats for each resource every minute: one line is enough.
      log[failing ? 'debug' : 'warn'](
        { source, resource, reason: explain(error) },
        'could not record a slot; retrying every minute',
      );
      failing = true;
    }
  };
  return { record, tryRecord };
}

/** The schedule as a cron expression. Kind `configuration` where it is not valid. */
export function cronOf({ source, resource, schedule }: Omit<Planned, 'timeZone'>): string {
  if (validate(schedule)) return schedule;
  throw new SluiceError('configuration', `The schedule of ${resource} (source ${source}) is "${schedule}".`, {
    next: `Expected: five fields such as */15 * * * * (minute, hour, day, month, day of week), or off. Correct SCHEDULE_${resource.toUpperCase()}, or "schedules" in the sources file.`,
  });
}
