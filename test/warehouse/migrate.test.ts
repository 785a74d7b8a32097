import { expect, test } from 'vitest';
import { migrate, pendingMigrations } from '../../src/warehouse/migrate.ts';
import { MIGRATIONS, withDatabase } from '../support/database.ts';

test('a migrated database has nothing pending, and migrating again runs nothing', async () => {
  await withDatabase(async database => {
    expect(await pendingMigrations({ database, ...MIGRATIONS })).toEqual([]);
    expect(await migrate({ database, ...MIGRATIONS })).toEqual([]);
  });
});

test('the warehouse schema holds only data: the migration tables lie in sluice', async () => {
  await withDatabase(async database => {
    const { rows } = await database.query<{ schema: string; name: string }>(
      "select schemaname as schema, tablename as name from pg_tables where tablename like '%migration%' order by 1, 2",
    );
    expect(rows.map(row => `${row.schema}.${row.name}`)).toEqual([
      'sluice.migrations',
      'sluice.migrations_lock',
      'sluice.migrations_warehouse',
      'sluice.migrations_warehouse_lock',
    ]);
    const clock = await database.query<{ close: boolean }>(
      'select abs(extract(epoch from sluice.now() - clock_timestamp())) < 1 as close',
    );
    expect(clock.rows).toEqual([{ close: true }]);
  });
});
