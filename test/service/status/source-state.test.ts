import { expect, test } from 'vitest';
import { conditionOf } from '../../../src/service/status/condition.ts';
import { readStates, shownOrderState, shownRunState } from '../../../src/service/status/source-state.ts';
import { resetResource } from '../../../src/warehouse/rows/reset.ts';
import { withDatabase } from '../../support/database.ts';
import { JOBS } from '../../support/resources.ts';
import { servedSource } from '../with-service.ts';

test('a run is shown as running only while a process reads its source', () => {
  expect(shownRunState('running', { isRead: true, isServed: false })).toBe('running');
  expect(shownRunState('running', { isRead: false, isServed: false })).toBe('stopped');
  expect(shownRunState('running', { isRead: false, isServed: true })).toBe('stopped');
  expect(shownOrderState('running', { isRead: true })).toBe('running');
  expect(shownOrderState('running', { isRead: false })).toBe('waiting');
});

test('a run that waits for the request limit is shown as waiting only while somebody will continue it', () => {
  expect(shownRunState('waiting', { isRead: false, isServed: true })).toBe('waiting');
  expect(shownRunState('waiting', { isRead: true, isServed: false })).toBe('waiting');
  expect(shownRunState('waiting', { isRead: false, isServed: false })).toBe('stopped');
});

test('a source without any schedule is up to date as of its oldest proof', async () => {
  await withDatabase(async database => {
    const { jobs, ...main } = servedSource(database);
    const of = async (scheduled: string[]) => {
      const two = new Map([...jobs].filter(([name]) => name !== 'transactions'));
      const [state] = await readStates(database, [{ ...main, jobs: two, scheduled }], {
        isServed: true,
        countRows: async () => new Map(),
      });
      return state && [conditionOf(state), state.upToDateAt];
    };
    const prove = (resource: string, ago: string) =>
      database.query(
        `insert into sluice.coverage (source, resource, slice, proven_at, rows, requests)
         values ('main', $1, 'whole', date_trunc('second', now()) - $2::interval, 1, 1)`,
        [resource, ago],
      );
    expect(await of([])).toEqual(['no schedule', null]);
    await prove('customers', '1 hour');
    expect(await of([])).toEqual(['no schedule', null]);
    await prove('invoices', '2 hours');
    const { rows } = await database.query<{ at: Date }>('select min(proven_at) as at from sluice.coverage');
    expect(await of([])).toEqual(['up to date', Number(new Date(rows[0]?.at ?? Number.NaN))]);
    expect(await of(['invoices'])).toEqual(['no tick yet', null]);
  });
});

test('a list that was reset is not up to date before its next tick, and neither is one whose newest tick is ahead of the clock', async () => {
  await withDatabase(async database => {
    const source = {
      ...servedSource(database),
      jobs: new Map([['customers', JOBS.customers]]),
      scheduled: ['customers'],
    };
    const state = async () => {
      const options = { isServed: true, countRows: async () => new Map() };
      const [read] = await readStates(database, [source], options);
      return read && [conditionOf(read), read.upToDateAt];
    };
    const serve = (at: string) =>
      database.query(
        `insert into sluice.runs (source, resource, kind, state, slot_at, started_at, ended_at, requests)
         values ('main', 'customers', 'slot', 'done', $1, sluice.now(), sluice.now(), 1)`,
        [at],
      );
    const prove = () =>
      database.query(
        `insert into sluice.coverage (source, resource, slice, proven_at, rows, requests)
         values ('main', 'customers', 'whole', sluice.now(), 1, 1)`,
      );
    await prove();
    await serve('2026-01-15T10:00:00Z');
    expect(await state()).toEqual(['up to date', Date.parse('2026-01-15T10:00:00Z')]);
    await serve('2126-01-15T10:00:00Z');
    expect(await state()).toEqual(['up to date', Date.parse('2026-01-15T10:00:00Z')]);
    const table = { schema: 'warehouse', table: 'customers', children: [] };
    await database.transaction(tx => resetResource(tx, { source: 'main', resource: 'customers' }, table));
    expect(await state()).toEqual(['no tick yet', null]);
    await prove();
    expect(await state()).toEqual(['up to date', Date.parse('2026-01-15T10:00:00Z')]);
  });
});
