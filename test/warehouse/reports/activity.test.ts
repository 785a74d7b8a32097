import { expect, test } from 'vitest';
import { changesByDay, requestsByHour, ticksServedWithin } from '../../../src/warehouse/reports/activity.ts';
import { withDatabase } from '../../support/database.ts';

test('changes are summed by the day of the zone in which their run ended', async () => {
  await withDatabase(async database => {
    await database.query(`
      insert into sluice.runs (source, resource, kind, state, started_at, ended_at, inserted, updated, deleted)
      select source, 'invoices', 'slot', 'done', at, at, 1, 2, 3 from (values
        ('main', date_trunc('day', sluice.now() at time zone 'Asia/Tokyo') at time zone 'Asia/Tokyo'),
        ('main', date_trunc('day', sluice.now() at time zone 'Asia/Tokyo') at time zone 'Asia/Tokyo' - interval '1 second'),
        ('main', date_trunc('day', sluice.now() at time zone 'Asia/Tokyo') at time zone 'Asia/Tokyo' - interval '2 hours'),
        ('other', sluice.now())) as run(source, at)`);
    const of = { source: 'main', resources: ['invoices', 'customers'], timeZone: 'Asia/Tokyo' };
    const days = await changesByDay(database.kysely, of, 3);
    expect(days.map(({ inserted, updated, deleted }) => [inserted, updated, deleted])).toEqual([
      [0, 0, 0],
      [2, 4, 6],
      [1, 2, 3],
    ]);
    expect([...days].map(({ day }) => day).sort()).toEqual(days.map(({ day }) => day));
  });
});

test('requests are counted by the hour and by what they were for', async () => {
  await withDatabase(async database => {
    await database.query(`
      insert into sluice.requests (source, key, lane, purpose, granted_at, counts_until)
      select 'main', 'k', lane, purpose, at, at from (values
        ('live', 'invoices newest', sluice.now()), ('live', 'invoices status=Unpaid', sluice.now()),
        ('live', 'invoices date 2025-01-01..2025-01-31', sluice.now()), ('live', 'customers one 17', sluice.now()),
        ('backfill', 'invoices newest', sluice.now()), ('verify', 'customers id ..', sluice.now()),
        ('live', null, sluice.now()),
        ('live', 'invoices newest', sluice.now() - interval '25 hours')) as request(lane, purpose, at)`);
    const hours = await requestsByHour(database.kysely, 'main');
    expect(hours).toHaveLength(24);
    const sum = (name: 'newest' | 'open' | 'older' | 'single' | 'backfill' | 'verify') =>
      hours.reduce((all, hour) => all + hour[name], 0);
    expect([sum('newest'), sum('open'), sum('older'), sum('single'), sum('backfill'), sum('verify')]).toEqual([
      1, 1, 2, 1, 1, 1,
    ]);
    expect(await requestsByHour(database.kysely, 'other')).toHaveLength(24);
  });
});

test('the ticks of the last hours come with the one before them', async () => {
  await withDatabase(async database => {
    await database.query(`
      insert into sluice.runs (source, resource, kind, state, slot_at, started_at, ended_at)
      select 'main', resource, 'slot', state, at, at, at + interval '1 minute' from (values
        ('invoices', 'done', sluice.now() - interval '9 hours'), ('invoices', 'done', sluice.now() - interval '5 hours'),
        ('invoices', 'failed', sluice.now() - interval '2 hours'), ('invoices', 'done', sluice.now() - interval '1 hour'),
        ('customers', 'done', sluice.now() - interval '3 hours')) as run(resource, state, at)`);
    const ticks = await ticksServedWithin(database.kysely, 'main', ['invoices', 'customers'], 4);
    expect(ticks.map(({ resource }) => resource)).toEqual(['invoices', 'customers', 'invoices']);
    expect(ticks.every(({ at, endedAt }) => endedAt - at === 60_000)).toBe(true);
  });
});
