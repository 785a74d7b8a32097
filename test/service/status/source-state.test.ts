import { expect, test } from 'vitest';
import { conditionOf } from '../../../src/service/status/condition.ts';
import { readStates, shownOrderState, shownRunState } from '../../../src/service/status/source-state.ts';
import { withDatabase } from '../../support/database.ts';
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
