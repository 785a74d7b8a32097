import { createTask } from 'node-cron';
import { DAY, HOUR, MINUTE } from '../../clock.ts';

/** How far back a missed tick is looked for. Rarer schedules wait for their next tick. */
export const LOOK_BACK_MS = 40 * DAY;
/** A weekday falls on 29 February once in 28 years, around a year such as 2100 once in 40. */
const LOOK_AHEAD_MS = 40 * 366 * DAY;

/**
 * The ticks of a cron expression of five fields in a time zone, in epoch milliseconds. An expression whose hour is `*` ticks whenever the clock shows one of its
 * times, so also in an hour that is repeated. Any other ticks once for each of its times: when the clock first shows it, or a later time
 * because it is skipped.
 */
export function createTicks(schedule: string, timeZone: string) {
  const [minute = '', hour = '', ...days] = schedule.trim().split(/\s+/);
  const isDay = matcher(`* * ${days.join(' ')}`);
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

/** node-cron is asked only whether a time matches: its own ticks lack what a time zone skips or repeats. */
function matcher(expression: string): (at: number) => boolean {
  const task = createTask(expression, () => undefined, { timezone: 'UTC' });
  return at => task.match(new Date(at));
}

const multiples = (step: number, end: number): number[] => Array.from({ length: end / step }, (_, n) => n * step);
