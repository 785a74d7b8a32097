import { expect, test } from 'vitest';
import type { Database } from '../../../src/warehouse/database/database.ts';
import {
  claimUntold,
  freshness,
  lastEndedRuns,
  noteTold,
  noteTroubles,
  openIncidents,
} from '../../../src/warehouse/ledgers/incidents.ts';
import { endRun, startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { withDatabase } from '../../support/database.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const fuse = { kind: 'fuse', resource: 'invoices', message: 'too many', next: 'accept them' } as const;
const key = { kind: 'unauthorized', resource: null, message: 'wrong key', next: null } as const;

test('a trouble is one incident, however often and by whomever it is seen, and a new one once it was over', async () => {
  await withDatabase(async (database, test) => {
    const other = await test.open();
    for (let time = 0; time < 3; time++)
      await Promise.all([database, other].map(each => noteTroubles(each.kysely, 'main', [fuse, key])));
    expect(await openIncidents(database.kysely, 'main')).toMatchObject([
      { kind: 'fuse', resource: 'invoices', message: 'too many', endedAt: null },
      { kind: 'unauthorized', resource: null },
    ]);
    expect(await openIncidents(database.kysely, 'other')).toEqual([]);

    await noteTroubles(database.kysely, 'main', [key]);
    expect(await openIncidents(database.kysely, 'main')).toMatchObject([{ kind: 'unauthorized' }]);
    await noteTroubles(database.kysely, 'main', [key, fuse]);
    expect(await openIncidents(database.kysely, 'main')).toMatchObject([{ kind: 'unauthorized' }, { kind: 'fuse' }]);
    await other.close();
  });
});

test('its start and its end are each leased by one process at a time, again after a growing pause, until reported', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const claim = () => claimUntold(database.kysely, 'main', 30);
    await noteTroubles(database.kysely, 'main', [fuse]);
    const claims = await Promise.all([claim(), claim(), claim()]);
    expect(claims.filter(each => each !== null)).toHaveLength(1);
    await clock.advance(30_000);
    expect(await claim()).toMatchObject({ kind: 'fuse' });
    await clock.advance(59_000);
    expect(await claim()).toBeNull();
    await clock.advance(1000);
    const third = await claim();
    await noteTold(database.kysely, third as never);
    await clock.advance(3_600_000);
    expect(await claim()).toBeNull();

    await noteTroubles(database.kysely, 'main', []);
    const end = await claim();
    expect(end?.endedAt).not.toBeNull();
    await noteTold(database.kysely, end as never);
    await clock.advance(3_600_000);
    expect(await claim()).toBeNull();
  });
});

test('of one that ended before it was reported, only the end is reported, and nothing after a day', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    await noteTroubles(database.kysely, 'main', [fuse]);
    await noteTroubles(database.kysely, 'main', []);
    expect(await claimUntold(database.kysely, 'main', 30)).toMatchObject({ endedAt: expect.any(String) as string });
    await clock.advance(24 * 3_600_000);
    expect(await claimUntold(database.kysely, 'main', 30)).toBeNull();
  });
});

test('one that another trouble explains stays open if it is, and is not opened', async () => {
  await withDatabase(async database => {
    const explained = { ...fuse, explained: true };
    await noteTroubles(database.kysely, 'main', [explained]);
    expect(await openIncidents(database.kysely, 'main')).toEqual([]);
    await noteTroubles(database.kysely, 'main', [fuse]);
    await noteTroubles(database.kysely, 'main', [explained, key]);
    expect(await openIncidents(database.kysely, 'main')).toMatchObject([{ kind: 'fuse' }, { kind: 'unauthorized' }]);
    await noteTroubles(database.kysely, 'main', [key]);
    expect(await openIncidents(database.kysely, 'main')).toMatchObject([{ kind: 'unauthorized' }]);
  });
});

test('the last run of its kind of work decides; stopped runs, runs without a request and readings for hints are ignored', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const run = async (kind: string, state: 'done' | 'failed' | 'stopped', failure?: string, requests = 3) => {
      await ended(database, kind, state, failure, requests);
      await clock.advance(1000);
    };
    const last = () => lastEndedRuns(database.kysely, 'main', ['invoices', 'customers']);
    expect(await last()).toEqual([]);
    await run('slot', 'failed', 'unavailable');
    await run('hint', 'done');
    await run('slot', 'stopped');
    await run('slot', 'done', undefined, 0);
    await run('backfill', 'failed', 'refused');
    expect(await last()).toMatchObject([
      { kind: 'backfill', state: 'failed', failure: 'refused' },
      { kind: 'slot', state: 'failed', failure: 'unavailable' },
    ]);
    await run('sync', 'done');
    await clock.advance(24 * 3_600_000);
    expect(await last()).toMatchObject([{ kind: 'sync', state: 'done' }]);
  });
});

test('once the clock was put back, runs that ended ahead of it decide nothing', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const readAll = `insert into sluice.coverage (source, resource, slice, proven_at, rows, requests) values ('main', 'invoices', 'whole', sluice.now(), 1, 1)`;
    await database.query(readAll);
    await ended(database, 'slot', 'done', undefined, 3);
    await clock.putBack(3_600_000);
    await ended(database, 'slot', 'failed', 'unavailable', 3);
    await clock.advance(1000);
    expect(await lastEndedRuns(database.kysely, 'main', ['invoices'])).toMatchObject([{ state: 'failed' }]);
    expect(await freshness(database.kysely, 'main', ['invoices'])).toMatchObject([{ ageSeconds: null }]);
    await ended(database, 'slot', 'done', undefined, 3);
    await clock.advance(1000);
    expect(await lastEndedRuns(database.kysely, 'main', ['invoices'])).toMatchObject([{ state: 'done' }]);
    expect(await freshness(database.kysely, 'main', ['invoices'])).toMatchObject([{ ageSeconds: 1 }]);
  });
});

async function ended(
  database: Database,
  kind: string,
  state: 'done' | 'failed' | 'stopped',
  failure: string | undefined,
  requests: number,
) {
  const place = { source: 'main', resource: 'invoices' };
  const id = await startRun(database.kysely, { ...place, kind, orderId: null, slotAt: null });
  await database.query('update sluice.runs set requests = $2 where id = $1', [id, requests]);
  await endRun(database.kysely, id, { state, failure });
}
