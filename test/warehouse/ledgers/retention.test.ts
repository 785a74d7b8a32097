import { expect, test } from 'vitest';
import { freshness, lastEndedRuns } from '../../../src/warehouse/ledgers/incidents.ts';
import { forgetOldWork, RETENTION } from '../../../src/warehouse/ledgers/retention.ts';
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

test('whatever is set, orders are kept for eight days: one of them settles a restore that the changes of a week show', async () => {
  await withDatabase(async database => {
    await database.query(`
      insert into sluice.orders (source, resource, kind, state, created_at, ended_at)
      select 'main', days || ' days', 'sync', 'done', now() - interval '20 days', now() - days * interval '1 day'
      from unnest(array[2, 7, 9]) days`);
    await forgetOldWork(database.kysely, 'main', { ...RETENTION, runs: 1 });
    const { rows } = await database.query('select resource from sluice.orders order by resource');
    expect(rows).toEqual([{ resource: '2 days' }, { resource: '7 days' }]);
  });
});

test('requests become counts after a day, and these are forgotten after a week', async () => {
  await withDatabase(async database => {
    await database.query(`
      insert into sluice.requests (key, source, lane, purpose, status, granted_at, settled_at, counts_until)
      select 'k', source, 'live', purpose, status, at, at, at + interval '1 hour'
      from (values ('main', 'invoices date 2026-01-01..', 200, 30), ('main', 'invoices newest', 200, 30), ('main', 'invoices newest', 429, 30),
        ('main', null, null, 30), ('main', 'invoices newest', 200, 200), ('main', 'invoices newest', 200, 23), ('other', 'x', 200, 30))
        d(source, purpose, status, hours), lateral (select date_trunc('hour', now()) - hours * interval '1 hour' as at) a`);
    await database.query(`
      insert into sluice.requests (key, source, lane, granted_at, counts_until)
      values ('k', 'main', 'live', now() - interval '30 hours', now() + interval '1 hour')`);
    const told = async () => {
      const { rows } = await database.query(
        'select source, purpose, status, requests from sluice.requests_by_minute order by purpose, status',
      );
      return rows;
    };
    const counts = [
      { source: 'main', purpose: 'invoices', status: 200, requests: 2 },
      { source: 'main', purpose: 'invoices', status: 429, requests: 1 },
      { source: 'main', purpose: 'lost', status: 0, requests: 1 },
    ];
    for (let times = 0; times < 2; times++) {
      await forgetOldWork(database.kysely, 'main', RETENTION);
      expect(await told()).toEqual(counts);
      // Of the last day, of another source, and what still counts against the limit.
      expect((await database.query('select from sluice.requests')).rowCount).toBe(3);
    }
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
    await database.query(`
      insert into sluice.coverage (source, resource, slice, proven_at, rows, requests)
      select 'main', resource, 'whole', now() - interval '200 days', 1, 1 from unnest(array['yearly', 'failing']) resource`);
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

test('earlier versions are kept for a month, whatever is set, so that a run can be undone', async () => {
  await withDatabase(async database => {
    await database.query(`
      insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by)
      select resource, ended_by || ' ' || days, '{}', now() - interval '99 days', now() - days * interval '1 day', ended_by
      from unnest(array['customers', 'invoices']) resource, unnest(array['changed', 'deleted']) ended_by, unnest(array[30, 32]) days`);
    const left = async (history: number | null) => {
      await forgetOldWork(database.kysely, 'main', { ...RETENTION, history }, [
        { schema: 'warehouse', name: 'customers', history: false },
        { schema: 'warehouse', name: 'invoices', history: true },
      ]);
      const { rows } = await database.query(
        `select resource, array_agg(key order by key) as keys from warehouse.row_history group by resource order by resource`,
      );
      return rows;
    };
    expect(await left(null)).toEqual([
      { resource: 'customers', keys: ['changed 30', 'deleted 30', 'deleted 32'] },
      { resource: 'invoices', keys: ['changed 30', 'changed 32', 'deleted 30', 'deleted 32'] },
    ]);
    expect(await left(2)).toEqual([
      { resource: 'customers', keys: ['changed 30'] },
      { resource: 'invoices', keys: ['changed 30'] },
    ]);
  });
});

test('history and the content of pushed lines are kept for ever, unless a setting says for how long', async () => {
  await withDatabase(async database => {
    const { kysely } = database;
    await database.query(`
      insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by) values
        ('customers', 'old', '{}', now() - interval '99 days', now() - interval '31 days', 'deleted'),
        ('customers', 'changed', '{}', now() - interval '99 days', now() - interval '31 days', 'changed'),
        ('customers', 'young', '{}', now() - interval '99 days', now() - interval '29 days', 'deleted'),
        ('invoices', 'of another list', '{}', now() - interval '99 days', now() - interval '31 days', 'deleted')`);
    await database.query(`
      insert into sluice.pushes (source, resource, file, lines, state, started_at, ended_at)
      select source, 'customers', file, 1, state, now() - began * interval '1 day', now() - ended * interval '1 day'
      from (values ('main', 'old', 'done', 40, 31), ('main', 'young', 'done', 40, 29), ('main', 'killed', 'running', 40, null),
        ('main', 'long', 'running', 40, null), ('other', 'old', 'done', 40, 31)) d(source, file, state, began, ended)`);
    await database.query(`
      insert into sluice.push_items (source, resource, hash, ordinal, push_id, line, body, message, state, sent_at)
      select source, 'customers', file, 1, id, 1, '{"email":"ann@example.com"}', 'ann@example.com is taken', 'refused',
        now() - case file when 'long' then interval '1 day' else interval '39 days' end from sluice.pushes`);
    const tables = [{ schema: 'warehouse', name: 'customers', history: true }];
    const left = async () => ({
      history: (await database.query<{ key: string }>('select key from warehouse.row_history order by key')).rows,
      lines: (
        await database.query<{ line: string }>(
          `select source || ' ' || hash as line from sluice.push_items where body <> '{}' and message is not null order by id`,
        )
      ).rows.map(({ line }) => line),
    });
    const before = await left();
    await forgetOldWork(kysely, 'main', RETENTION, tables);
    expect(await left()).toEqual(before);
    await forgetOldWork(kysely, 'main', { ...RETENTION, history: 30, pushes: 30 }, tables);
    expect(await left()).toEqual({
      history: [{ key: 'of another list' }, { key: 'young' }],
      lines: ['main young', 'main long', 'other old'],
    });
    const { rows } = await database.query('select count(distinct hash)::int as hashes from sluice.push_items');
    expect(rows).toEqual([{ hashes: 4 }]);
  });
});

test('a quarantined record that no reading shows any more is forgotten, or emptied if its key cannot be read; one that is still shown stays', async () => {
  await withDatabase(async database => {
    await database.query(`
      insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen, resolved_at) values
        ('main', 'r', 'not seen for long', '{}', '{}', 'whole', now() - interval '99 days', now() - interval '31 days', null),
        ('main', 'r', 'still shown', '{}', '{}', 'whole', now() - interval '99 days', now() - interval '29 days', null),
        ('main', 'r', '?1', '["Ann"]', '{"name":"Ann"}', 'whole', now() - interval '99 days', now() - interval '31 days', null)`);
    await forgetOldWork(database.kysely, 'main');
    const { rows } = await database.query('select key, payload, reasons from sluice.quarantine order by key');
    expect(rows).toEqual([
      { key: '?1', payload: '', reasons: {} },
      { key: 'still shown', payload: '{}', reasons: {} },
    ]);
  });
});
