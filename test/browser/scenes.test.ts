import { test } from 'vitest';
import { createLedger } from '../../src/budget/ledger/ledger.ts';
import { HOUR } from '../../src/clock.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { acquireSourceLock } from '../../src/warehouse/database/source-lock.ts';
import { noteTroubles } from '../../src/warehouse/ledgers/incidents.ts';
import { createOrder, setOrderState } from '../../src/warehouse/ledgers/orders.ts';
import { setRunWaiting, startRun } from '../../src/warehouse/ledgers/runs.ts';
import { withConsole } from './with-console.ts';
import { lookAt } from './with-page.ts';

/** What a service that ran for long would have left: ticks, changes, requests, and months that were proven at different times. */
async function liveForLong(database: Database): Promise<void> {
  await database.query(`
    insert into sluice.runs (source, resource, kind, state, slot_at, started_at, ended_at, requests, rows_read, inserted, updated, deleted)
    select 'main', resource, 'slot', 'done', at, at, at + interval '70 seconds', 3, 120, n * 7 % 9, n * 5 % 19, n % 2
    from unnest(array['customers', 'invoices', 'transactions']) resource,
      (select at, (extract(epoch from at) / 900)::bigint as n from generate_series(sluice.now() - interval '28 days', sluice.now() - interval '4 minutes', interval '15 minutes') at) tick
    where at >= sluice.now() - interval '26 hours' or extract(minute from at) < 15`);
  await database.query(`
    insert into sluice.requests (key, source, granted_at, counts_until, settled_at, lane, purpose)
    select 'k', 'main', at, at, at, case when n % 13 = 0 then 'backfill' else 'live' end,
      case n % 3 when 0 then 'invoices newest' when 1 then 'invoices status=Unpaid' else 'transactions date 2025-01-01..2025-12-31' end
    from (select at, row_number() over (order by at) as n from generate_series(sluice.now() - interval '23 hours', sluice.now() - interval '1 hour', interval '5 seconds') at) t`);
  await database.query(`delete from sluice.coverage where slice like 'date %'`);
  await database.query(`
    insert into sluice.coverage (source, resource, slice, date_from, date_to, proven_at, read_at, requests, rows, changed, hours_watched)
    select 'main', resource, 'date ' || first || '..' || last, first, last, sluice.now() - n * n * interval '6 minutes', sluice.now(), 2, 100, 3, 200
    from unnest(array['invoices', 'transactions']) resource,
      (select day::date as first, (day + interval '1 month' - interval '1 day')::date as last, row_number() over (order by day desc) as n
       from generate_series(date_trunc('month', sluice.now()) - interval '46 months', sluice.now(), interval '1 month') day) month
    union all
    select 'main', resource, 'date ..' || last, '-infinity', last, sluice.now() - interval '9 days', sluice.now(), 2, 0, 0, 200
    from unnest(array['invoices', 'transactions']) resource,
      (select (date_trunc('month', sluice.now()) - interval '46 months' - interval '1 day')::date as last) t`);
  await database.query(
    `update warehouse.customers set _synced_at = greatest(updated_at, created_at) + interval '3 minutes'`,
  );
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

test('a first sync is running', async () => {
  await withConsole(
    async ({ url, database }) => {
      const lock = await acquireSourceLock(database, 'main', 'sync');
      await database.query(`
        insert into sluice.coverage (source, resource, slice, date_from, date_to, proven_at, requests, rows, changed, hours_watched)
        select 'main', 'invoices', 'date ' || day || '-01-01..' || day || '-12-31', (day || '-01-01')::date, (day || '-12-31')::date,
          case when day < 2025 then null else sluice.now() end, 1, null, 0, 0 from generate_series(2022, 2026) day`);
      for (const resource of ['customers', 'invoices', 'transactions'])
        await startRun(database.kysely, { source: 'main', resource, kind: 'sync', orderId: null, slotAt: null });
      await lookAt(`${url}/`, 'overview-first-sync');
      await lookAt(`${url}/sources/main`, 'source-first-sync');
      await lookAt(`${url}/runs`, 'runs-first-sync');
      await lock?.release();
    },
    { synced: false },
  );
});

test('the limit is used up', async () => {
  await withConsole(async ({ url, database }) => {
    await liveForLong(database);
    const limits = { limit: 1000, windowMs: HOUR, timeoutMs: 30_000 };
    const ledger = createLedger({ database, source: 'main', apiKey: 'key', ...limits });
    for (const [lane, want] of [
      ['live', 100],
      ['backfill', 100],
      ['live', 1000],
    ] as const)
      for (let taken = 0; taken < want; ) {
        const { grants } = await ledger.take(lane, want - taken);
        if (grants.length === 0) break;
        taken += grants.length;
      }
    const run = await startRun(database.kysely, {
      source: 'main',
      resource: 'invoices',
      kind: 'backfill',
      orderId: null,
      slotAt: null,
    });
    await setRunWaiting(database.kysely, [run], 600_000);
    await lookAt(`${url}/`, 'overview-limit');
    await lookAt(`${url}/sources/main`, 'source-limit');
  });
});

test('a backfill is running', async () => {
  await withConsole(async ({ url, database }) => {
    await liveForLong(database);
    const { kysely } = database;
    const lock = await acquireSourceLock(database, 'main');
    const { id } = await createOrder(kysely, {
      source: 'main',
      resource: 'invoices',
      kind: 'backfill',
      dateFrom: '2024-01-01',
    });
    await setOrderState(kysely, id, ['waiting'], 'running');
    await startRun(kysely, { source: 'main', resource: 'invoices', kind: 'backfill', orderId: id, slotAt: null });
    await database.query(
      `update sluice.coverage set proven_at = sluice.now() where resource = 'invoices' and date_from > '2025-06-01'`,
    );
    await lookAt(`${url}/runs`, 'runs-backfill');
    await lookAt(`${url}/orders/${id}`, 'order-running');
    await lookAt(`${url}/`, 'overview-backfill');
    await lock?.release();
  });
});

test('thirteen sources are a table, troubles first', async () => {
  await withConsole(
    async ({ url, database }) => {
      await noteTroubles(database.kysely, 'source-7', [
        {
          kind: 'unavailable',
          resource: null,
          message: 'It does not answer.',
          next: 'To see what is wrong: sluice doctor --source source-7',
        },
      ]);
      await lookAt(`${url}/`, 'overview-fleet');
    },
    { sources: 13 },
  );
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
