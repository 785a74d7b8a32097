import { createTask, type ScheduledTask } from 'node-cron';

/** The next tick of any of these cron expressions (epoch ms); null where none has one. Remembered until it has passed: finding a rare one takes milliseconds. */
export function createNextTick(schedules: Iterable<string>, timeZone: string): (now: number) => number | null {
  const known = [...new Set(schedules)].map(schedule => ({
    task: createTask(schedule, () => undefined, { timezone: timeZone }),
    at: null as number | null,
  }));
  return now => {
    const ticks = known.flatMap(each => {
      if (each.at === null || each.at <= now) each.at = nextRun(each.task);
      return each.at ?? [];
    });
    return ticks.length === 0 ? null : Math.min(...ticks);
  };
}

const nextRun = (task: ScheduledTask): number | null => task.getNextRuns(1)[0]?.getTime() ?? null;
