import type { Database } from '../../src/warehouse/database/database.ts';

/** The same database, where what is asked of `warehouse` is asked of another source's schema. */
export function inSchema(database: Database, schema: string): Database {
  return {
    ...database,
    query: (sql, parameters) => database.query(sql.replaceAll('warehouse.', `${schema}.`), parameters),
  };
}
