import { sql } from 'kysely';
import type { Database } from './database.ts';

/** What a table and its columns hold, as `\d+`, BI tools and the console show it. */
export interface TableComments {
  readonly schema: string;
  readonly table: string;
  readonly comment: string;
  /** By column. */
  readonly columns: Readonly<Record<string, string>>;
}

interface Commented {
  readonly schema: string;
  readonly table: string;
  /** Null for the table itself. */
  readonly column: string | null;
  readonly comment: string | null;
}

/**
 * Writes the comments that differ, on tables and columns that exist and that this login owns. Takes one statement where all are there. SQL: comments take no
 * parameters.
 */
export async function writeComments(database: Database, wanted: readonly TableComments[]): Promise<void> {
  const schemas = [...new Set(wanted.map(({ schema }) => schema))];
  if (schemas.length === 0) return;
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
  const missing = wanted.flatMap(commentsOf).filter(each => {
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

const commentsOf = ({ schema, table, comment, columns }: TableComments): Commented[] => [
  { schema, table, column: null, comment },
  ...Object.entries(columns).map(([column, text]) => ({ schema, table, column, comment: text })),
];
