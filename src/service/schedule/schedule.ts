import { setImmediate as others } from 'node:timers/promises';
import { createTask, type ScheduledTask, type TaskContext, validate } from 'node-cron';
import { type Clock, DAY, MINUTE } from '../../clock.ts';
import { explain, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { lastSlotAt, recordSlot } from '../../warehouse/ledgers/slots.ts';

/** The farthest back that a missed tick is looked for, as at the start. Rarer schedules wait for their next tick. */
const LOOK_BACK_MS = 40 * DAY;
/** While it runs, ticks are looked for once more every minute: one that could not be recorded, or that node-cron was too busy for. */
const SWEEP_MS = MINUTE;
/** How far back then at least, whatever was looked at before; farther where looking has failed for longer. */
const SWEEP_BACK_MS = 10 * MINUTE;
/** Looked at in one go, some 10 ms; a rare schedule of many sources would hold up all else for minutes. */
const MINUTES_IN_ONE_GO = 200;

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
  let failing = false;
  const attempt = async (entry: Entry) => {
    try {
      await record(entry);
      failing = false;
    } catch (error) {
      const { source, resource } = entry.each;
      // While the database is away this is so for each resource, and every minute: one line is enough.
      log[failing ? 'debug' : 'warn'](
        { source, resource, reason: explain(error) },
        'a slot could not be recorded, and will be',
      );
      failing = true;
    }
  };
  const entries = planned.map(each => {
    const onTick = async ({ date }: TaskContext) => {
      // Our clock may be ahead of the database's, for which this tick is still to come.
      const early = date.getTime() - (await databaseNow(database).catch(() => Number.POSITIVE_INFINITY));
      if (early > 0 && early < MINUTE) await clock.sleep(early);
      await attempt(entry);
    };
    const { source, resource, timeZone } = each;
    const name = `${source} ${resource}`;
    const task = createTask(cronOf(each), onTick, { timezone: timeZone, name, suppressMissedWarning: true });
    task.on('execution:missed', onTick);
    const entry: Entry = { each, task, lookedAt: Number.NEGATIVE_INFINITY };
    return entry;
  });
  for (const entry of entries) await record(entry);
  for (const { task } of entries) await task.start();
  const stopping = new AbortController();
  const sweeping = sweep();
  return {
    async stop() {
      stopping.abort();
      await sweeping;
      for (const { task } of entries) await task.destroy();
    },
  };

  async function sweep(): Promise<void> {
    for (;;) {
      await clock.sleep(SWEEP_MS, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      await Promise.all(entries.map(attempt));
    }
  }
}

/** One schedule at work. */
interface Entry {
  readonly each: Planned;
  readonly task: ScheduledTask;
  /** When a tick was last looked for without an error, by the database's clock. */
  lookedAt: number;
}

/** Kind `configuration` for a schedule that is none. */
export function cronOf({ source, resource, schedule }: Omit<Planned, 'timeZone'>): string {
  if (validate(schedule)) return schedule;
  throw new SluiceError('configuration', `The schedule of ${resource} (source ${source}) is "${schedule}".`, {
    next: `Expected: five fields such as */15 * * * * (minute, hour, day, month, day of week), or off. Correct SCHEDULE_${resource.toUpperCase()}, or "schedules" in the sources file.`,
  });
}

/** The newest tick up to `now` that is later than `last`; at the very first start, now itself. */
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
    if (++looked % MINUTES_IN_ONE_GO === 0) await others();
  }
  return null;
}
