import { test } from 'vitest';
import type { Database } from '../../src/warehouse/database/database.ts';
import { noteTroubles } from '../../src/warehouse/ledgers/incidents.ts';
import { withConsole } from './with-console.ts';
import { lookAt } from './with-page.ts';

/** Ticks of the last day, served a minute after each, and changes of the last month: what a service that ran for long would have left. */
async function liveForLong(database: Database): Promise<void> {
  await database.query(`
    insert into sluice.runs (source, resource, kind, state, slot_at, started_at, ended_at, requests, rows_read, inserted, updated, deleted)
    select 'main', resource, 'slot', 'done', at, at, at + interval '70 seconds', 3, 120, (random() * 9)::int, (random() * 20)::int, (random() * 2)::int
    from unnest(array['customers', 'invoices', 'transactions']) resource,
      generate_series(sluice.now() - interval '28 days', sluice.now() - interval '4 minutes', interval '15 minutes') at
    where at < sluice.now() - interval '26 hours' and extract(minute from at) < 15 or at >= sluice.now() - interval '26 hours'`);
  await database.query(`
    insert into sluice.requests (key, source, granted_at, counts_until, settled_at, lane, purpose)
    select 'k', 'main', at, at, at, 'live', case (random() * 3)::int when 0 then 'invoices newest' when 1 then 'invoices status=Unpaid' else 'transactions date 2025-01-01..2025-12-31' end
    from generate_series(sluice.now() - interval '23 hours', sluice.now() - interval '1 hour', interval '5 seconds') at`);
}

test('healthy', async () => {
  await withConsole(async ({ url, database }) => {
    await liveForLong(database);
    await lookAt(`${url}/`, 'overview-healthy');
    await lookAt(`${url}/sources/main`, 'source-healthy');
  });
});

test('a source that is down', async () => {
  await withConsole(async ({ url, database }) => {
    await liveForLong(database);
    await noteTroubles(database.kysely, 'main', [
      {
        kind: 'unavailable',
        resource: null,
        message: 'The source did not answer for 14 minutes: connect ECONNREFUSED.',
        next: 'Check that the source is up. To see what Sluice finds: sluice doctor',
      },
    ]);
    await lookAt(`${url}/`, 'overview-down');
    await lookAt(`${url}/sources/main`, 'source-down');
  });
});

test('before the first sync', async () => {
  await withConsole(
    async ({ url }) => {
      await lookAt(`${url}/`, 'overview-empty');
      await lookAt(`${url}/sources/main`, 'source-empty');
    },
    { synced: false },
  );
});
