import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/clock.ts';
import { createTicks } from '../../../src/service/schedule/schedule.ts';
import '../../support/properties.ts';
import { long, some } from '../../support/long.ts';

const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo', 'UTC'];
const clocks = new Map(
  ZONES.map(zone => [
    zone,
    new Intl.DateTimeFormat('en-CA', { timeZone: zone, hourCycle: 'h23', dateStyle: 'short', timeStyle: 'short' }),
  ]),
);

/** The hours before and after a day in UTC that are looked at with it. */
const MARGIN_MS = 3 * HOUR;

/** The minutes of a day and the hours around it, and what the clock shows in each, e.g. `2026-03-29 02:30`. */
function minutesAround(zone: string, day: number): { at: number; shows: string }[] {
  const format = clocks.get(zone) as Intl.DateTimeFormat;
  return Array.from({ length: (DAY + 2 * MARGIN_MS) / MINUTE }, (_, minute) => {
    const at = day - MARGIN_MS + minute * MINUTE;
    return { at, shows: format.format(at).replace(', ', ' ') };
  });
}

const changes = ZONES.flatMap(zone => {
  const offsetAt = (at: number) =>
    Date.parse(`${(clocks.get(zone) as Intl.DateTimeFormat).format(at).replace(', ', 'T')}Z`) - at;
  const days = Array.from({ length: 365 }, (_, day) => Date.UTC(2026, 0, 1) + day * DAY);
  return days.filter(day => offsetAt(day) !== offsetAt(day + DAY)).map(day => ({ zone, day }));
});
const anyDay = fc.record({
  zone: fc.constantFrom(...ZONES),
  day: fc.integer({ min: 0, max: 3000 }).map(days => Date.UTC(2024, 0, 1) + days * DAY),
});
const dayInZone = fc.oneof(fc.constantFrom(...changes), anyDay);

/** All ticks from `from` to `to`, each found as the schedule finds it: the newest one at each full minute. */
function ticksBetween(schedule: string, zone: string, from: number, to: number): number[] {
  const ticks = createTicks(schedule, zone);
  const found: number[] = [];
  for (let now = from; now < to; now += MINUTE) {
    const tick = ticks.latest(now, found.at(-1) ?? from - 1, 10 * MINUTE);
    if (tick !== null) found.push(tick);
  }
  return found;
}

long('each scheduled time of a local day ticks once: when the clock first shows it, or a later time', () => {
  const times = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 59 })), {
    minLength: 1,
    maxLength: 3,
  });
  fc.assert(
    fc.property(dayInZone, times, fc.boolean(), ({ zone, day }, times, late) => {
      const hourOf = (hour: number) => (late ? 23 - hour : hour);
      const hours = [...new Set(times.map(([hour]) => hourOf(hour)))].sort((a, b) => a - b);
      const minutes = [...new Set(times.map(([, minute]) => minute))].sort((a, b) => a - b);
      const around = minutesAround(zone, day);
      const from = day - MARGIN_MS;
      const to = day + DAY + MARGIN_MS;
      const expected = new Set<number>();
      for (const date of new Set(around.map(({ shows }) => shows.slice(0, 10))))
        for (const hour of hours)
          for (const minute of minutes) {
            const time = `${date} ${[hour, minute].map(each => String(each).padStart(2, '0')).join(':')}`;
            const shown = around.findIndex(({ shows }) => shows >= time);
            // The first minute may show a time that lies before it.
            if (shown > 0 || around[0]?.shows === time) expected.add((around[shown] as { at: number }).at);
          }
      const schedule = `${minutes.join(',')} ${hours.join(',')} * * *`;
      expect(ticksBetween(schedule, zone, from, to)).toEqual([...expected].sort((a, b) => a - b));
    }),
    { numRuns: 10 },
  );
});

test('the next tick is the one that will be recorded', () => {
  const schedules = ['30 2 * * *', '0 0 * * *', '*/15 * * * *', '10 1-3 * * 0', '5 */2 * * *'];
  fc.assert(
    fc.property(dayInZone, fc.constantFrom(...schedules), ({ zone, day }, schedule) => {
      const from = day - MARGIN_MS;
      const ticks = createTicks(schedule, zone);
      const nexts: number[] = [];
      for (let next = ticks.next(from - 1); next !== null && next < day + DAY + MARGIN_MS; next = ticks.next(next))
        nexts.push(next);
      expect(nexts).toEqual(ticksBetween(schedule, zone, from, day + DAY + MARGIN_MS));
    }),
    { numRuns: 10 },
  );
});

test('a schedule for every hour keeps ticking in elapsed time when the clock is changed', () => {
  for (const { zone, day } of some(changes, 3)) {
    const found = ticksBetween('*/15 * * * *', zone, day, day + DAY);
    expect(found).toEqual(Array.from({ length: DAY / (15 * MINUTE) }, (_, n) => day + n * 15 * MINUTE));
  }
});

test('ticks missed over a change of the clock are caught up by the newest', () => {
  const ticks = createTicks('30 2 * * *', 'Europe/Berlin');
  const at = (text: string) => Date.parse(text);
  expect(ticks.latest(at('2026-03-29T10:00:00Z'), at('2026-03-27T01:30:00Z'))).toBe(at('2026-03-29T01:00:00Z'));
  expect(ticks.latest(at('2026-10-25T10:00:00Z'), at('2026-10-25T00:30:00Z'))).toBeNull();
});

test('a date that never comes has no next tick', () => {
  expect(createTicks('0 0 29 2 *', 'UTC').next(Date.UTC(2096, 2, 1))).toBe(Date.UTC(2104, 1, 29));
  expect(createTicks('0 0 1 1 *', 'UTC').next(Date.UTC(2026, 0, 1) + HOUR)).toBe(Date.UTC(2027, 0, 1));
});

test('a day need only be one of its month or of its week, unless one field begins with *', () => {
  const daysOf = (schedule: string) => {
    const ticks = createTicks(schedule, 'UTC');
    const days: string[] = [];
    const end = Date.UTC(2026, 6, 1);
    for (let at = ticks.next(Date.UTC(2026, 4, 31)); at !== null && at < end; at = ticks.next(at))
      days.push(new Date(at).toISOString().slice(8, 10));
    return days.join(' ');
  };
  expect(daysOf('0 3 10 * 1')).toBe('01 08 10 15 22 29');
  expect(daysOf('0 3 10 7 1')).toBe('');
  expect(daysOf('0 3 */2 * 1')).toBe('01 15 29');
  expect(daysOf('0 3 1-15 * *')).toBe('01 02 03 04 05 06 07 08 09 10 11 12 13 14 15');
  expect(daysOf('0 3 * * 1')).toBe('01 08 15 22 29');
});
