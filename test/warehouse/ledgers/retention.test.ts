import { expect, test } from 'vitest';
import { freshness, lastEndedRuns } from '../../../src/warehouse/ledgers/incidents.ts';
import { forgetOldWork } from '../../../src/warehouse/ledgers/retention.ts';
import { withDatabase } from '../../support/database.ts';

test('old finished work is forgotten; open and recent work and the newest slot stay', async () => {
  await withDatabase(async database => {
    await database.query(`
      insert into sluice.runs (source, resource, kind, state, started_at, ended_at) values
        ('main', 'old', 'sync', 'done', now() - interval '100 days', now() - interval '100 days'),
        ('main', 'old', 'hint', 'failed', now() - interval '100 days', now() - interval '100 days'),
        ('main', 'young', 'sync', 'done', now() - interval '80 days', now() - interval '80 days'),
        ('main', 'open', 'sync', 'running', now() - interval '100 days', null),
        ('other', 'old', 'sync', 'done', now() - interval '100 days', now() - interval '100 days')`);
    await database.query(`
      insert into sluice.slots (source, resource, slot_at, recorded_at) values
        ('main', 'yearly', now() - interval '200 days', now()), ('main', 'yearly', now() - interval '150 days', now())`);
    await database.query(`
      insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen, resolved_at) values
        ('main', 'r', 'resolved', '{}', '{}', 'whole', now(), now(), now() - interval '31 days'),
        ('main', 'r', 'unresolved', '{}', '{}', 'whole', now() - interval '99 days', now(), null)`);
    await database.query(`
      insert into sluice.orders (source, resource, kind, state, created_at, ended_at) values
        ('main', 'old', 'sync', 'done', now() - interval '100 days', now() - interval '100 days'),
        ('main', 'young', 'verify', 'failed', now() - interval '100 days', now() - interval '80 days'),
        ('main', 'paused', 'backfill', 'paused', now() - interval '100 days', null),
        ('other', 'old', 'sync', 'done', now() - interval '100 days', now() - interval '100 days')`);
    await forgetOldWork(database.kysely, 'main');
    const left = async (text: string) => (await database.query<{ name: string }>(text)).rows.map(row => row.name);
    expect(await left('select resource as name from sluice.runs order by id')).toEqual(['young', 'open', 'old']);
    expect(await left('select resource as name from sluice.orders order by id')).toEqual(['young', 'paused', 'old']);
    expect(await left('select count(*)::text as name from sluice.slots')).toEqual(['1']);
    expect(await left('select key as name from sluice.quarantine')).toEqual(['unresolved']);
  });
});

test('however rarely a resource is synced, its last outcome and its last success are kept', async () => {
  await withDatabase(async database => {
    const { kysely } = database;
    const resources = ['yearly', 'failing'];
    await database.query(`
      insert into sluice.runs (source, resource, kind, state, requests, started_at, ended_at)
      select 'main', resource, 'slot', state, requests, now() - days * interval '1 day', now() - days * interval '1 day'
      from (values ('yearly', 'done', 3, 300), ('yearly', 'failed', 3, 250), ('yearly', 'done', 3, 200), ('yearly', 'stopped', 1, 150),
        ('failing', 'done', 3, 300), ('failing', 'failed', 3, 250), ('failing', 'failed', 3, 200), ('failing', 'done', 0, 150))
        d(resource, state, requests, days)`);
    await database.query(`
      insert into sluice.slots (source, resource, slot_at, recorded_at)
      select 'main', resource, now() - interval '201 days', now() from unnest(array['yearly', 'failing']) resource`);
    const tell = async () => ({
      last: (await lastEndedRuns(kysely, 'main', resources)).map(run => run.state),
      due: (await freshness(kysely, 'main', resources)).map(each => [
        each.ageSeconds !== null,
        each.overdueSeconds !== null,
      ]),
    });
    const before = await tell();
    expect(before).toEqual({
      last: ['failed', 'done'],
      due: [
        [true, false],
        [true, true],
      ],
    });
    await forgetOldWork(kysely, 'main');
    expect(await tell()).toEqual(before);
    const { rows } = await database.query('select count(*)::int as kept from sluice.runs');
    expect(rows).toEqual([{ kept: 3 }]);
  });
});
