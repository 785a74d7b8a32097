import { type RawBuilder, sql } from 'kysely';
import { type Db, rollbackTo, savepoint } from './database.ts';
import type { DeclaredTable } from './declared-table.ts';

type Named = readonly [schema: string, table: string];

/** What beside the tables of a list holds values of its rows. */
const HOLDERS: readonly string[] = [
  'sluice.held',
  'sluice.incidents',
  'sluice.missing',
  'sluice.orders',
  'sluice.push_items',
  'sluice.quarantine',
  'sluice.rewrites',
  'sluice.row_windows',
  'sluice.runs',
  'sluice.sealed_rows',
  'sluice.traits',
];

/**
 * The planner keeps values of columns as examples, and `pg_stats` shows them. Makes those of everything that holds values of a list anew, from what
 * is stored now; in the caller's transaction, as its last part: it locks the tables against another `analyze`. SQL: tables known at run time.
 */
export async function forgetStatistics(
  db: Db,
  schema: string,
  list: Pick<DeclaredTable, 'name'> & { readonly children: readonly Pick<DeclaredTable, 'name'>[] },
): Promise<void> {
  const ours = [list, ...list.children].map(({ name }) => name).concat('row_history', 'change_log');
  const { rows } = await sql<{ schema: string; name: string }>`
    select distinct schemaname as schema, tablename as name from pg_stats
    where schemaname = ${schema} and tablename = any(${ours}) or schemaname || '.' || tablename = any(${HOLDERS})
    order by 1, 2`.execute(db);
  for (const { schema: of, name } of rows) await analyze(db, [of, name]);
}

/** `analyze` keeps the examples of an empty table; so it gets a row of nothing for that time. */
async function analyze(db: Db, named: Named): Promise<void> {
  const table = sql.id(...named);
  const { rows } = await sql`select from ${table} limit 1`.execute(db);
  if (rows.length > 0) return void (await sql`analyze ${table}`.execute(db));
  await savepoint(db, 'nothing');
  try {
    const at = await insertNothing(db, named);
    await sql`analyze ${table}`.execute(db);
    await sql`delete from ${table} where ctid = ${at}::tid`.execute(db);
  } catch {
    // A rule of the owner's own refuses such a row.
    await rollbackTo(db, 'nothing');
  }
}

const NOTHING: Readonly<Record<string, RawBuilder<unknown>>> = {
  text: sql`''`,
  bigint: sql`0`,
  integer: sql`0`,
  jsonb: sql`'{}'`,
  date: sql`'-infinity'`,
  'timestamp with time zone': sql`'-infinity'`,
  'text[]': sql`'{}'`,
};
/** Where only some words are allowed. */
const WORDS: Readonly<Record<string, string>> = {
  'row_history.ended_by': 'changed',
  'change_log.kind': 'updated',
  'incidents.kind': 'failed',
  'orders.kind': 'verify',
  'orders.state': 'done',
};

/** Returns where the row lies. */
async function insertNothing(db: Db, [schema, name]: Named): Promise<string | undefined> {
  const table = sql.id(schema, name);
  const { rows } = await sql<{ column: string; type: string }>`
    select attname as column, format_type(atttypid, null) as type from pg_attribute
    where attrelid = to_regclass(format('%I.%I', ${schema}::text, ${name}::text)) and attnum > 0 and not attisdropped
      and attnotnull and not atthasdef and attidentity = ''`.execute(db);
  const values = rows.map(({ column, type }) => {
    const word = WORDS[`${name}.${column}`];
    return word === undefined ? (NOTHING[type] ?? sql`null`) : sql.lit(word);
  });
  const columns = rows.map(({ column }) => sql.id(column));
  const inserted = await sql<{ at: string }>`insert into ${table} (${sql.join(columns)}) values (${sql.join(values)})
    returning ctid::text as at`.execute(db);
  return inserted.rows[0]?.at;
}
