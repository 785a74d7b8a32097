import { validate } from 'node-cron';
import { type Clock, MINUTE } from '../../clock.ts';
import { explain, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { lastSlotAt, recordSlot } from '../../warehouse/ledgers/slots.ts';
import { createTicks, LOOK_BACK_MS } from './ticks.ts';

/** How far back each look goes at least; farther where looking has failed for longer. */
const LEAST_BACK_MS = 10 * MINUTE;

/** When a resource is read: a cron expression of five fields in a time zone. */
export interface Planned {
  readonly source: string;
  readonly resource: string;
  readonly schedule: string;
  readonly timeZone: string;
}

interface ScheduleOptions {
  readonly planned: readonly Planned[];
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for each slot that this process recorded. */
  readonly onSlot: (source: string) => Promise<void>;
}

/**
 * Records a slot in Postgres at every tick of every schedule: once for each tick, however many processes run. Ticks missed while
 * none ran are caught up by one slot at the start. Ticks are looked for at each full minute of the database's clock.
 */
export async function startSchedule(options: ScheduleOptions): Promise<{ stop(): Promise<void> }> {
  const { planned, database, clock, log } = options;
  const entries = planned.map(each => ({
    ...each,
    ticks: createTicks(cronOf(each), each.timeZone),
    lookedAt: Number.NEGATIVE_INFINITY,
  }));
  for (const entry of entries) await record(options, entry);
  const stopping = new AbortController();
  let failing = false;
  const tryRecord = async (entry: Entry) => {
    try {
      await record(options, entry);
      failing = false;
    } catch (error) {
      const { source, resource } = entry;
      // While the database is away this repeats for each resource every minute: one line is enough.
      log[failing ? 'debug' : 'warn'](
        { source, resource, reason: explain(error) },
        'could not record a slot; retrying every minute',
      );
      failing = true;
    }
  };
  const look = async () => {
    for (;;) {
      const now = await databaseNow(database).catch(() => 0);
      await clock.sleep(MINUTE - (now % MINUTE), stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      await Promise.all(entries.map(tryRecord));
    }
  };
  const looking = look();
  return {
    async stop() {
      stopping.abort();
      await looking;
    },
  };
}

interface Entry extends Planned {
  readonly ticks: ReturnType<typeof createTicks>;
  /** The database's time when a tick was last looked for without an error. */
  lookedAt: number;
}

/** Records the newest tick, if it has no slot yet. */
async function record({ database, log, onSlot }: ScheduleOptions, entry: Entry): Promise<void> {
  const { source, resource } = entry;
  const now = await databaseNow(database);
  const backMs = Math.min(Math.max(now - entry.lookedAt, LEAST_BACK_MS), LOOK_BACK_MS);
  const tick = entry.ticks.latest(now, await lastSlotAt(database.kysely, source, resource), backMs);
  const slot = tick === null ? null : new Date(tick);
  const recorded = slot !== null && (await recordSlot(database.kysely, source, resource, slot));
  entry.lookedAt = now;
  if (slot) log.debug({ source, resource, slot: slot.toISOString(), recorded }, 'slot');
  if (recorded) await onSlot(source);
}

/** The schedule as a cron expression. Kind `configuration` where it is not valid. */
export function cronOf({ source, resource, schedule }: Omit<Planned, 'timeZone'>): string {
  if (validate(schedule) && schedule.trim().split(/\s+/).length === 5) return schedule;
  throw new SluiceError('configuration', `The schedule of ${resource} (source ${source}) is "${schedule}".`, {
    next: `Expected: five fields such as */15 * * * * (minute, hour, day, month, day of week), or off. Correct SCHEDULE_${resource.toUpperCase()}, or "schedules" in the sources file.`,
  });
}
