import { fileURLToPath } from 'node:url';
import { declareTables } from '../../src/engine/records/declare-table.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { migrate } from '../../src/warehouse/database/migrate.ts';
import { JOBS } from '../../test/support/resources.ts';

const folder = (name: string) => fileURLToPath(new URL(`../../migrations/${name}`, import.meta.url));
const MIGRATIONS = {
  sluiceFolder: folder('sluice'),
  warehouseFolder: folder('warehouse'),
  lists: declareTables(Object.entries(JOBS)),
  timeZone: 'UTC',
};

/** Migrates a schema for each source, and fills it as a service that ran for long would have left it. */
export async function fillWarehouse(
  database: Database,
  sources: readonly { readonly name: string; readonly schema: string; readonly resources: readonly string[] }[],
  { rows, runs }: { rows: number; runs: number },
): Promise<void> {
  for (const { name, schema, resources } of sources) {
    await migrate({ database, schema, ...MIGRATIONS });
    await database.query(`insert into ${schema}.customers (id, account, _synced_at, _read_at)
      select i, 'Customer ' || i, sluice.now() - i * interval '1 minute', sluice.now() from generate_series(1, ${rows}) i`);
    await database.query(`insert into ${schema}.invoices (id, customer_id, date, amount, status, _synced_at, _read_at)
      select i, 1 + i % ${rows}, current_date - i % 900, i, 'Paid', sluice.now() - i * interval '1 minute', sluice.now() from generate_series(1, ${rows}) i`);
    await database.query(
      `insert into sluice.coverage (source, resource, slice, date_from, date_to, proven_at, read_at, requests, rows, changed, hours_watched)
       select $1, resource, 'date ' || day::date || '..' || (day + interval '1 month' - interval '1 day')::date, day::date, (day + interval '1 month' - interval '1 day')::date,
         sluice.now() - random() * interval '1 day', sluice.now(), 2, 100, 1, 24
       from unnest(cast($2 as text[])) resource, generate_series(date_trunc('month', sluice.now()) - interval '5 years', sluice.now(), interval '1 month') day`,
      [name, resources],
    );
    await database.query(
      `insert into sluice.runs (source, resource, kind, state, slot_at, started_at, ended_at, requests, rows_read, inserted, updated)
       select $1, (cast($2 as text[]))[1 + i % ${resources.length}], 'slot', case when i % 97 = 0 then 'failed' else 'done' end, at, at, at + interval '40 seconds', 3, 100, 1, 2
       from (select i, sluice.now() - i * interval '5 minutes' as at from generate_series(${runs}, 1, -1) i) t`,
      [name, resources],
    );
    await database.query(
      `insert into sluice.cursors (source, resource, version) select $1, resource, 1 from unnest(cast($2 as text[])) resource`,
      [name, resources],
    );
    await database.query(
      `insert into sluice.requests (key, source, granted_at, counts_until, settled_at, lane, purpose, status)
       select $1, $1, at, at + interval '1 hour', at, 'live', (cast($2 as text[]))[1 + (random() * 2)::int] || ' newest', 200
       from generate_series(sluice.now() - interval '2 hours', sluice.now(), interval '12 seconds') at`,
      [name, resources],
    );
  }
  await database.query('analyze');
}
