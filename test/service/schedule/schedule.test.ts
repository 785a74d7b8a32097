import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import customers from '../../../jobs/customers.ts';
import invoices from '../../../jobs/invoices.ts';
import { plannedOf } from '../../../src/cli/session/source-settings.ts';
import { type Clock, DAY, HOUR, MINUTE } from '../../../src/clock.ts';
import type { SourceConfig } from '../../../src/config/config.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { createLog } from '../../../src/log.ts';
import { createTicks, nextTickOf, startSchedule } from '../../../src/service/schedule/schedule.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { withDatabase } from '../../support/database.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { hearWakeUps } from '../with-service.ts';

const at = (text: string) => Date.parse(text);

/** The schedule of one resource. */
const startInvoices = (schedule: string, database: Database, clock: Clock, timeZone = 'UTC') =>
  startSchedule({
    planned: [{ source: 'main', resource: 'invoices', schedule, timeZone }],
    database,
    clock,
    log: createLog({ level: 'silent' }),
  });

test('only the newest missed tick is caught up, and only once', () => {
  const quarterly = createTicks('*/15 * * * *', 'UTC');
  const now = at('2026-01-15T10:44:30Z');
  expect(quarterly.latest(now, at('2026-01-15T08:00:00Z'))).toBe(at('2026-01-15T10:30:00Z'));
  expect(quarterly.latest(now, at('2026-01-15T10:30:00Z'))).toBeNull();
});

test('the last tick of a rare schedule is found weeks back', () => {
  expect(createTicks('0 3 1 * *', 'UTC').latest(at('2026-01-15T10:44:30Z'), at('2025-12-20T00:00:00Z'))).toBe(
    at('2026-01-01T03:00:00Z'),
  );
});

test('the first start has a tick at once', () => {
  expect(createTicks('0 3 1 * *', 'UTC').latest(at('2026-01-15T10:44:30Z'), null)).toBe(at('2026-01-15T10:44:00Z'));
});

test('a tick follows its time zone, also in daylight saving time', () => {
  const early = createTicks('30 2 * * *', 'Europe/Vienna');
  expect(early.latest(at('2026-01-15T10:00:00Z'), at('2026-01-14T12:00:00Z'))).toBe(at('2026-01-15T01:30:00Z'));
  expect(early.latest(at('2026-07-15T10:00:00Z'), at('2026-07-14T12:00:00Z'))).toBe(at('2026-07-15T00:30:00Z'));
});

test('the next tick that the console shows is one of the slots: in the zone of the schedule, not of the source', () => {
  const zones = { SOURCE_TIMEZONE: 'Europe/Vienna', SCHEDULE_TIMEZONE: 'UTC', SCHEDULE_INVOICES: 'off' };
  const environment = { ...zones, SCHEDULE_CUSTOMERS: '0 3 * * *' };
  const jobs = new Map(Object.entries({ customers, invoices }));
  const config = readConfig({ environment, directory: tmpdir(), needsSource: false, resources: [...jobs.keys()] });
  const [source] = config.sources as [SourceConfig];
  const planned = plannedOf(source, jobs);
  expect(planned).toEqual([{ source: 'main', resource: 'customers', schedule: '0 3 * * *', timeZone: 'UTC' }]);
  const now = Date.parse('2026-07-01T00:30:00Z');
  expect(nextTickOf(planned)(now)).toBe(Date.parse('2026-07-01T03:00:00Z'));
  expect(nextTickOf([])(now)).toBe(null);
});

test('a tick during a long database outage is recorded once when the database is back', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T01:50:00.000Z');
    const nextMinute = async () => {
      const next = clock.now() + MINUTE;
      while (clock.now() < next) await new Promise(resolve => setTimeout(resolve, 1));
    };
    await recordSlot(database.kysely, 'main', 'invoices', new Date('2026-01-14T02:00:00Z'));
    const { woken, end } = await hearWakeUps(database);
    const schedule = await startInvoices('0 2 * * *', database, clock);
    while (clock.now() < at('2026-01-15T01:58:00Z')) await nextMinute();
    await database.query('alter table sluice.slots rename to away');
    while (clock.now() < at('2026-01-15T02:30:00Z')) await nextMinute();
    await database.query('alter table sluice.away rename to slots');
    for (let minute = 0; minute < 3; minute++) await nextMinute();
    await schedule.stop();
    const { rows } = await database.query('select slot_at from sluice.slots order by 1');
    expect(rows.map(row => row.slot_at)).toEqual(['2026-01-14 02:00:00+00', '2026-01-15 02:00:00+00']);
    await expect.poll(() => woken).toEqual(['main']);
    await end();
  });
});

test('the first start of a rare schedule records a slot at once', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-06-15T01:50:30.000Z');
    const { woken, end } = await hearWakeUps(database);
    await (await startInvoices('0 3 1 1 *', database, clock)).stop();
    const { rows } = await database.query('select slot_at from sluice.slots');
    expect(rows).toEqual([{ slot_at: '2026-06-15 01:50:00+00' }]);
    await expect.poll(() => woken).toEqual(['main']);
    await end();
  });
});

test('slots recorded while the database clock was hours ahead neither block the schedule nor are recorded again', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T01:50:00.000Z');
    const { woken, end } = await hearWakeUps(database);
    const start = async () => (await startInvoices('*/15 * * * *', database, clock)).stop();
    for (const time of ['01:30', '02:00', '06:00'])
      await recordSlot(database.kysely, 'main', 'invoices', new Date(`2026-01-15T${time}:00Z`));
    await start();
    await database.query(`update sluice.test_clock set now = '2026-01-15T02:10:00Z'`);
    await start();
    const { rows } = await database.query('select slot_at from sluice.slots order by 1');
    expect(rows.map(row => (row.slot_at as string).slice(11, 16))).toEqual(['01:30', '01:45', '02:00', '06:00']);
    await expect.poll(() => woken).toEqual(['main']);
    await end();
  });
});

test.each([
  ['that does not exist', '2026-03-29T00:10:00.000Z', '01:00'],
  ['that is repeated', '2026-10-25T00:10:00.000Z', '00:30'],
])('a scheduled time %s has one slot that day', async (_, from, slot) => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, from);
    await recordSlot(database.kysely, 'main', 'invoices', new Date(at(from) - DAY));
    const schedule = await startInvoices('30 2 * * *', database, clock, 'Europe/Berlin');
    while (clock.now() < at(from) + 2 * HOUR) await new Promise(resolve => setTimeout(resolve, 1));
    await schedule.stop();
    const { rows } = await database.query('select slot_at from sluice.slots where slot_at > $1', [from]);
    expect(rows.map(row => (row.slot_at as string).slice(11, 16))).toEqual([slot]);
  });
});
