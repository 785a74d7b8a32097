import { createTask, validate } from 'node-cron';
import { runBeside } from '../../any-signal.ts';
import { type Clock, DAY, HOUR, MINUTE } from '../../clock.ts';
import { explain, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { lastSlotAt, recordSlot } from '../../warehouse/ledgers/slots.ts';
import { wakeUp } from './wake-ups.ts';

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
}

/**
 * Records a slot in Postgres at every tick of every schedule: once for each tick, however many processes run. Ticks missed while
 * none ran are caught up by one slot at the start. Ticks are looked for at each full minute of the database's clock.
 */
export async function startSchedule(options: ScheduleOptions): Promise<{ stop(): Promise<void> }> {
  const { planned, database, clock, log } = options;
  const entries: Entry[] = planned.map(each => ({
    ...each,
    ticks: createTicks(cronOf(each), each.timeZone),
    lookedAt: null,
  }));
  await lookFor(options, entries);
  let failing = false;
  const stop = runBeside(async over => {
    for (;;) {
      const now = await databaseNow(database).catch(() => 0);
      await clock.sleep(MINUTE - (now % MINUTE), over).catch(() => undefined);
      if (over.aborted) return;
      try {
        await lookFor(options, entries);
        failing = false;
      } catch (error) {
        // While the database is away this repeats every minute: one line is enough.
        log[failing ? 'debug' : 'warn']({ reason: explain(error) }, 'could not record slots; retrying every minute');
        failing = true;
      }
    }
  });
  return { stop };
}

interface Entry extends Planned {
  readonly ticks: ReturnType<typeof createTicks>;
  /** The database's time when a tick was last looked for without an error; null: never. */
  lookedAt: number | null;
}

async function lookFor(options: ScheduleOptions, entries: readonly Entry[]): Promise<void> {
  const now = await databaseNow(options.database);
  await Promise.all(entries.map(entry => record(options, entry, now)));
}

/** Records the newest tick, if it has no slot yet, and wakes its source. Between two ticks, this takes no statement. */
async function record({ database, log }: ScheduleOptions, entry: Entry, now: number): Promise<void> {
  const { source, resource, ticks, lookedAt } = entry;
  // Had the clock been put back, ticks that were recorded would come again.
  if (lookedAt === null || now < lookedAt || ticks.latest(now, lookedAt) !== null) {
    const sinceMs = lookedAt === null ? LOOK_BACK_MS : now - lookedAt;
    const backMs = Math.min(Math.max(sinceMs, LEAST_BACK_MS), LOOK_BACK_MS);
    const tick = ticks.latest(now, await lastSlotAt(database.kysely, source, resource), backMs);
    const slot = tick === null ? null : new Date(tick);
    const recorded = slot !== null && (await recordSlot(database.kysely, source, resource, slot));
    if (slot) log.debug({ source, resource, slot: slot.toISOString(), recorded }, 'slot');
    if (recorded) await wakeUp(database, source);
  }
  entry.lookedAt = now;
}

/** The schedule as a cron expression. Kind `configuration` where it is not valid. */
export function cronOf({ source, resource, schedule }: Omit<Planned, 'timeZone'>): string {
  if (validate(schedule) && schedule.trim().split(/\s+/).length === 5) return schedule;
  throw new SluiceError('configuration', `The schedule of ${resource} (source ${source}) is "${schedule}".`, {
    next: `Expected: five fields such as */15 * * * * (minute, hour, day, month, day of week), or off. Correct SCHEDULE_${resource.toUpperCase()}, "schedules" in the sources file, or its file in lists/.`,
  });
}

/** How far back a missed tick is looked for. Rarer schedules wait for their next tick. */
const LOOK_BACK_MS = 40 * DAY;
/** A weekday falls on 29 February once in 28 years, around a year such as 2100 once in 40. */
const LOOK_AHEAD_MS = 40 * 366 * DAY;

/**
 * The ticks of a cron expression of five fields in a time zone, in epoch milliseconds. An expression whose hour is `*` ticks whenever the clock shows one of its
 * times, so also in an hour that is repeated. Any other ticks once for each of its times: when the clock first shows it, or a later time
 * because it is skipped.
 */
export function createTicks(schedule: string, timeZone: string) {
  const [minute = '', hour = '', ...days] = schedule.trim().split(/\s+/);
  const isDay = dayMatcher(days);
  const minutes = multiples(MINUTE, HOUR).filter(matcher(`${minute} * * * *`));
  const hours = multiples(HOUR, DAY).filter(matcher(`* ${hour} * * *`));
  const times = hours.flatMap(hourMs => minutes.map(minuteMs => hourMs + minuteMs));
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  /** What the clock shows, as if it were UTC. */
  const shown = (at: number) => Date.parse(`${format.format(at).replace(' ', 'T')}Z`);
  const dayOf = (at: number) => Math.floor(shown(at) / DAY) * DAY;
  let found: { after: number; tick: number | null } | undefined;

  function ticksOn(day: number): number[] {
    if (!isDay(day)) return [];
    const [before = 0, after = 0] = [day - DAY, day + 2 * DAY].map(at => shown(at) - at);
    if (before === after) return times.map(time => day + time - before);
    const ticks = times.flatMap(time =>
      hour === '*'
        ? [before, after].map(offset => day + time - offset).filter(at => shown(at) === day + time)
        : firstShown(day + time, day + time - Math.max(before, after)),
    );
    return [...new Set(ticks)].sort((a, b) => a - b);
  }

  function firstShown(time: number, from: number): number {
    let at = from;
    while (shown(at) < time) at += MINUTE;
    return at;
  }

  function findNext(now: number): number | null {
    for (let day = dayOf(now) - DAY; day < now + LOOK_AHEAD_MS; day += DAY) {
      const tick = ticksOn(day).find(at => at > now);
      if (tick !== undefined) return tick;
    }
    return null;
  }

  return {
    /** The newest tick up to `now` that is later than `last`; at the very first start, the current minute. */
    latest(now: number, last: number | null, backMs = LOOK_BACK_MS): number | null {
      if (last === null) return Math.floor(now / MINUTE) * MINUTE;
      const oldest = Math.max(last, now - backMs);
      for (let day = dayOf(now); day >= dayOf(oldest) - DAY; day -= DAY) {
        const tick = ticksOn(day).findLast(at => at <= now);
        if (tick !== undefined) return tick > oldest ? tick : null;
      }
      return null;
    },
    /** The first tick after `now`; null for a date that never comes. */
    next(now: number): number | null {
      // Finding a rare one takes milliseconds.
      const isKnown = found && now >= found.after && (found.tick === null || now < found.tick);
      if (!isKnown) found = { after: now, tick: findNext(now) };
      return found?.tick ?? null;
    },
  };
}

/** Finds the first tick of any of them after a time; null if there is none. Equal schedules are looked at once. */
export function nextTickOf(planned: readonly Planned[]): (now: number) => number | null {
  const distinct = new Map(
    planned.map(({ schedule, timeZone }) => [`${schedule} ${timeZone}`, { schedule, timeZone }]),
  );
  const ticks = [...distinct.values()].map(each => createTicks(each.schedule, each.timeZone));
  return now => {
    const nexts = ticks.flatMap(each => each.next(now) ?? []);
    return nexts.length === 0 ? null : Math.min(...nexts);
  };
}

/** As in cron, a day need only be one of both fields, unless one of them begins with `*`; node-cron wants it to be in both. */
function dayMatcher([day = '', month = '', weekday = '']: readonly string[]): (at: number) => boolean {
  if (day.startsWith('*') || weekday.startsWith('*')) return matcher(`* * ${day} ${month} ${weekday}`);
  const [byDay, byWeekday] = [matcher(`* * ${day} ${month} *`), matcher(`* * * ${month} ${weekday}`)];
  return at => byDay(at) || byWeekday(at);
}

/** node-cron is asked only whether a time matches: its own ticks lack what a time zone skips or repeats. */
function matcher(expression: string): (at: number) => boolean {
  const task = createTask(expression, () => undefined, { timezone: 'UTC' });
  return at => task.match(new Date(at));
}

const multiples = (step: number, end: number): number[] => Array.from({ length: end / step }, (_, n) => n * step);
