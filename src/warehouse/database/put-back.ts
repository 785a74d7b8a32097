import { sql } from 'kysely';
import { codeOf, SluiceError } from '../../errors.ts';
import type { Db } from './database.ts';
import { type Declared, type DeclaredTable, historyViewOf } from './declared-table.ts';
import type { LackingTable, StoredField } from './find-lacking.ts';

const DEPENDED_ON = '2BP01';

/**
 * Puts what no file in `lists/` declares any more back into `_extra`, and drops its columns, child tables and the history view, in the caller's
 * transaction, whose search path is the schema. `_read_at`, `_synced_at` and `_hash` stay: the row is the source's as before. Throws the kind
 * `configuration` where a view or another object of somebody else depends on one of them. SQL: tables known at run time.
 */
export async function putBack(db: Db, list: DeclaredTable, tables: readonly LackingTable[]): Promise<void> {
  try {
    const view = sql.id(historyViewOf(list.name));
    await sql`drop function if exists ${sql.id(`${list.name}_as_of`)}(timestamptz)`.execute(db);
    await sql`drop view if exists ${view}`.execute(db);
    for (const { table, undeclared } of tables) {
      const children = undeclared.filter(({ child_table }) => child_table !== null);
      for (const child of children) await putBackChild(db, table.name, table.key[0] ?? '', child);
      const columns = undeclared.filter(({ child_table }) => child_table === null);
      if (columns.length > 0) await putBackColumns(db, table.name, columns);
      if (undeclared.length > 0) await forgetFields(db, list, table === list ? '' : prefixOf(list, table), undeclared);
    }
  } catch (error) {
    if (codeOf(error) !== DEPENDED_ON) throw error;
    const { message, detail } = error as { message: string; detail?: string };
    throw new SluiceError('configuration', `What ${list.file} no longer declares is in use: ${detail ?? message}.`, {
      next: 'Drop what depends on it, or declare it again. Nothing was changed.',
      cause: error,
    });
  }
}

/** `lines.` for the table of the rows in `lines`. */
const prefixOf = (list: DeclaredTable, table: Declared): string =>
  `${list.children.find(child => child === table)?.field}.`;

/** What is held, lost or told of fields that have no column any more. */
async function forgetFields(
  db: Db,
  { name }: DeclaredTable,
  prefix: string,
  fields: readonly StoredField[],
): Promise<void> {
  const sources = sql<string>`(select source from sluice.sources where schema = current_schema())`;
  const names = fields.map(({ field }) => prefix + field);
  for (const table of ['sluice.held', 'sluice.losses', 'sluice.rewrites'] as const)
    await db
      .deleteFrom(table)
      .where('source', 'in', sources)
      .where('resource', '=', name)
      .where('field', 'in', names)
      .execute();
}

async function putBackColumns(db: Db, table: string, columns: readonly StoredField[]): Promise<void> {
  const values = columns.map(({ field }) => sql`${sql.lit(field)}, ${sql.id(field)}`);
  const set = columns.map(({ field }) => sql`${sql.id(field)} is not null`);
  await sql`update ${sql.id(table)}
    set _extra = coalesce(_extra, '{}') || jsonb_strip_nulls(jsonb_build_object(${sql.join(values)}))
    where ${sql.join(set, sql` or `)}`.execute(db);
  const drops = columns.map(({ field }) => sql`drop column ${sql.id(field)}`);
  await sql`alter table ${sql.id(table)} ${sql.join(drops)}`.execute(db);
}

/** A row's lines as the source lists them. */
async function putBackChild(
  db: Db,
  table: string,
  key: string,
  { field, child_table, parent }: StoredField,
): Promise<void> {
  const [child, owner] = [sql.id(child_table ?? ''), sql.id(parent ?? '')];
  await sql`update ${sql.id(table)} t
    set _extra = coalesce(t._extra, '{}') || jsonb_build_object(${sql.lit(field)}, c.lines)
    from (select ${owner} as owner,
        jsonb_agg((to_jsonb(i) - array[${sql.lit(parent)}, 'line', '_extra']) || coalesce(i._extra, '{}') order by i.line) as lines
      from ${child} i group by 1) c
    where c.owner = t.${sql.id(key)}`.execute(db);
  await sql`drop table ${child}`.execute(db);
  await sql`delete from sluice.declared_fields where schema = current_schema() and table_name = ${child_table}`.execute(
    db,
  );
}
