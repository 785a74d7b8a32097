import type { Database } from '../../src/warehouse/database/database.ts';

/** The tables of all schemas with rows that hold the text in any column, as `schema.table: rows`. */
export async function findText(database: Database, text: string): Promise<string[]> {
  const { rows: tables } = await database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await database.query<{ count: number }>(
      `select count(*)::int as count from ${name} t where position(lower($1) in lower(t::text)) > 0`,
      [text],
    );
    if (rows[0]?.count) found.push(`${name}: ${rows[0].count}`);
  }
  return found;
}
