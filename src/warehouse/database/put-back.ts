import { type RawBuilder, sql } from 'kysely';
import { codeOf, SluiceError } from '../../errors.ts';
import type { Db } from './database.ts';
import { type Declared, type DeclaredTable, historyViewOf } from './declared-table.ts';
import type { LackingTable, StoredField } from './find-lacking.ts';

const DEPENDED_ON = '2BP01';

/**
 * Puts what no file in `lists/` declares any more back into `_extra`, of rows and of their earlier versions, and drops its columns, child tables
 * and the history view, in the caller's transaction, whose search path is the schema. `_read_at` and `_synced_at` stay: the row is the source's
 * as before. Throws the kind `configuration` where a closed month, or a view of somebody else, needs one of them. SQL: tables known at run time.
 */
export async function putBack(db: Db, list: DeclaredTable, tables: readonly LackingTable[]): Promise<void> {
  await refuseSealed(db, list, tables);
  try {
    const view = sql.id(historyViewOf(list.name));
    await sql`drop function if exists ${sql.id(`${list.name}_as_of`)}(timestamptz)`.execute(db);
    await sql`drop view if exists ${view}`.execute(db);
    // What it stands for changes with the columns.
    const { rows: hashed } = await sql`
      select from pg_attribute where attrelid = to_regclass(${`"${list.name}"`}) and attname = '_hash' and not attisdropped`.execute(
      db,
    );
    if (hashed.length > 0) await sql`update ${sql.id(list.name)} set _hash = null`.execute(db);
    for (const { table, undeclared } of tables) {
      if (undeclared.length === 0) continue;
      const line = list.children.find(child => child === table)?.field;
      const children = undeclared.filter(({ child_table }) => child_table !== null);
      for (const child of children) await putBackChild(db, table.name, table.key[0] ?? '', child);
      const columns = undeclared.filter(({ child_table }) => child_table === null);
      if (columns.length > 0) await putBackColumns(db, table.name, columns);
      const names = undeclared.map(({ field }) => field);
      const lists = children.map(({ field }) => field);
      await putBackVersions(db, list.name, { fields: names, lists }, line);
      await forgetFields(
        db,
        list,
        names.map(name => (line === undefined ? name : `${line}.${name}`)),
      );
    }
  } catch (error) {
    if (codeOf(error) !== DEPENDED_ON) throw error;
    const { message, detail } = error as { message: string; detail?: string };
    throw refused(list, `is in use: ${detail ?? message}`, 'Drop what depends on it, or declare it again.', error);
  }
}

const refused = ({ file }: Declared, why: string, next: string, cause?: unknown): SluiceError =>
  new SluiceError('configuration', `What ${file} no longer declares ${why}.`, {
    next: `${next} Nothing was changed.`,
    cause,
  });

/** A closed month reads its child tables, and the column that dates its rows. */
async function refuseSealed(db: Db, list: DeclaredTable, tables: readonly LackingTable[]): Promise<void> {
  const undeclared = tables.flatMap(each => (each.table === list ? each.undeclared : []));
  const { rows } = await sql<{ month: string }>`
    select distinct s.month from sluice.seals s join sluice.sealed_lists l on l.seal_id = s.id
    where s.replaced_at is null and l.schema = current_schema() and l.resource = ${list.name}
      and (l.date_field = any(${undeclared.map(({ field }) => field)})
        or exists (select from jsonb_array_elements(l.children) c
          where c->>'table' = any(${undeclared.flatMap(({ child_table }) => child_table ?? [])}::text[])))
    order by 1`.execute(db);
  const months = rows.map(({ month }) => month).join(', ');
  if (months !== '') throw refused(list, `belongs to closed months (${months})`, 'Declare it again.');
}

/** Forgets what is held, lost or told of these fields. The search path is the schema. */
export async function forgetFields(db: Db, { name }: DeclaredTable, fields: readonly string[]): Promise<void> {
  const sources = sql<string>`(select source from sluice.sources where schema = current_schema())`;
  for (const table of ['sluice.held', 'sluice.losses', 'sluice.rewrites'] as const)
    await db
      .deleteFrom(table)
      .where('source', 'in', sources)
      .where('resource', '=', name)
      .where('field', 'in', fields)
      .execute();
}

/** What stands in `_extra` already came later. */
async function putBackColumns(db: Db, table: string, columns: readonly StoredField[]): Promise<void> {
  const values = columns.map(({ field }) => sql`${sql.lit(field)}, ${sql.id(field)}`);
  const set = columns.map(({ field }) => sql`${sql.id(field)} is not null`);
  await sql`update ${sql.id(table)}
    set _extra = jsonb_strip_nulls(jsonb_build_object(${sql.join(values)})) || coalesce(_extra, '{}')
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
    set _extra = jsonb_build_object(${sql.lit(field)}, c.lines) || coalesce(t._extra, '{}')
    from (select ${owner} as owner,
        jsonb_agg((to_jsonb(i) - array[${sql.lit(parent)}, 'line', '_extra']) || coalesce(i._extra, '{}') order by i.line) as lines
      from ${child} i group by 1) c
    where c.owner = t.${sql.id(key)}`.execute(db);
  await sql`drop table ${child}`.execute(db);
  await sql`delete from sluice.declared_fields where schema = current_schema() and table_name = ${child_table}`.execute(
    db,
  );
}

/** The same in earlier versions; `line`: the list whose rows hold the fields. */
async function putBackVersions(db: Db, list: string, gone: Gone, line: string | undefined): Promise<void> {
  const { fields } = gone;
  const row =
    line === undefined
      ? inExtra(sql.ref('h.row'), gone)
      : sql`jsonb_set(h.row, array[${line}]::text[], coalesce((select jsonb_agg(${inExtra(sql.ref('e.item'), gone)} order by e.at)
          from jsonb_array_elements(h.row -> ${line}) with ordinality e(item, at)), '[]'))`;
  const holds =
    line === undefined ? sql`h.row ?| ${[...fields]}::text[]` : sql`jsonb_typeof(h.row -> ${line}) = 'array'`;
  await sql`update row_history h set row = ${row} where h.resource = ${list} and ${holds}`.execute(db);
}

/** Fields that are no longer declared; `lists`: those of child rows. */
interface Gone {
  readonly fields: readonly string[];
  readonly lists: readonly string[];
}

/** The object with these fields in its `_extra`, child rows as the source lists them: see `putBackChild`. */
const inExtra = (object: RawBuilder<unknown>, { fields, lists }: Gone) => sql`(${object} - ${[...fields]}::text[])
  || jsonb_build_object('_extra', nullif(
    coalesce((select jsonb_object_agg(f.key, sluice.plain_row(jsonb_build_object('rows', f.value)) -> 'rows') from jsonb_each(${object}) f
      where f.key = any(${[...fields]}::text[]) and jsonb_typeof(f.value) <> 'null'
        and not (f.key = any(${[...lists]}::text[]) and f.value = '[]')), '{}')
    || case jsonb_typeof(${object} -> '_extra') when 'object' then ${object} -> '_extra' else '{}' end, '{}'))`;
