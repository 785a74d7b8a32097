import { sql } from 'kysely';
import type { Database } from './database.ts';
import { type Declared, type DeclaredTable, historyViewOf } from './declared-table.ts';

interface Commented {
  readonly schema: string;
  readonly table: string;
  /** Null for the table itself. */
  readonly column: string | null;
  readonly comment: string | null;
}

/**
 * Writes the comments of the declared tables, and of their columns in the history views, that differ: on what exists and this login owns.
 * Takes one statement where all are there. SQL: comments take no parameters.
 */
export async function writeComments(
  database: Database,
  schemas: readonly string[],
  lists: readonly DeclaredTable[],
): Promise<void> {
  const wanted = schemas.flatMap(schema => lists.flatMap(list => commentsOf(schema, list)));
  const { rows } = await sql<Commented>`
    select n.nspname as schema, c.relname as table, a.attname as column, d.description as comment
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    cross join lateral (select 0 as attnum, null::name as attname
      union all select attnum, attname from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) a
    left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = a.attnum
    where n.nspname = any(${schemas}) and c.relkind in ('r', 'p', 'v') and pg_has_role(c.relowner, 'usage')`.execute(
    database.kysely,
  );
  const existing = new Map(rows.map(row => [nameOf(row), row.comment]));
  const missing = wanted.filter(each => {
    const known = existing.get(nameOf(each));
    return known !== undefined && each.comment && each.comment !== known;
  });
  if (missing.length === 0) return;
  await database.transaction(async tx => {
    for (const { schema, table, column, comment } of missing) {
      if (column === null) await sql`comment on table ${sql.id(schema, table)} is ${sql.lit(comment)}`.execute(tx);
      else await sql`comment on column ${sql.id(schema, table, column)} is ${sql.lit(comment)}`.execute(tx);
    }
  });
}

const nameOf = ({ schema, table, column }: Commented): string => JSON.stringify([schema, table, column]);

function commentsOf(schema: string, list: DeclaredTable): Commented[] {
  const ofColumns = (table: string, { columns }: Declared) =>
    columns.map(({ name, comment }) => ({ schema, table, column: name, comment }));
  return [
    ...[list, ...list.children].flatMap(table => [
      { schema, table: table.name, column: null, comment: table.comment },
      ...ofColumns(table.name, table),
    ]),
    // The view has a comment of its own.
    ...ofColumns(historyViewOf(list.name), list),
  ];
}
