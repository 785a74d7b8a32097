import type { Database } from '../../src/warehouse/database/database.ts';

/** Creates empty tables like those of the warehouse, with their indexes, in another schema; returns their names. */
export async function createEmptyClones(database: Database, schema: string): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'warehouse' and table_type = 'BASE TABLE'
      and table_name not in ('kysely_migration', 'kysely_migration_lock') order by 1`,
  );
  const names = rows.map(row => row.name);
  await database.query(`drop schema if exists ${schema} cascade; create schema ${schema}`);
  // In transactions of their own: `copy` into a table of the same transaction would write no WAL.
  for (const name of names)
    await database.query(`create table ${schema}.${name} (like warehouse.${name} including all)`);
  return names;
}
