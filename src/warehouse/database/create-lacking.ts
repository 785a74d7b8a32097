import { type RawBuilder, sql } from 'kysely';
import { createHistoryView } from '../../../migrations/create-history-view.ts';
import type { Db } from './database.ts';
import type { Declared, DeclaredTable } from './declared-table.ts';
import { fillFromExtra } from './fill-from-extra.ts';
import type { Lacking, LackingTable } from './find-lacking.ts';
import { forgetList } from './forget-list.ts';
import { type MaskedRows, maskStored, recordMasks, refuseContentKeys } from './mask-stored.ts';
import { NOW } from './now.ts';
import { putBack } from './put-back.ts';

/**
 * Creates what a schema lacks, in the caller's transaction, whose search path is the schema. A new column of a stored table, and a new
 * table of children, take their values from `_extra`. Returns how many values the job cannot read there, by `table.field`, and the rows that
 * were masked, by table.
 */
export async function createLacking(
  db: Db,
  schema: string,
  lacking: readonly Lacking[],
): Promise<{ unread: ReadonlyMap<string, number>; masked: readonly MaskedRows[] }> {
  const unread = new Map<string, number>();
  const masked: MaskedRows[] = [];
  for (const { list, tables, view, masks, unmasked } of lacking) {
    const changed = tables.find(({ table, absent }) => table === list && !absent);
    if (list.isFromFile && changed && changed.columns.length + changed.undeclared.length > 0)
      await refuseContentKeys(db, schema, list, 'change');
    const isPutBack = tables.some(({ undeclared }) => undeclared.length > 0);
    if (isPutBack) await putBack(db, list, tables);
    for (const table of tables) await create(db, table);
    const lacked = (table: Declared) => tables.find(each => each.table === table);
    // A table that was dropped is read anew.
    if (lacked(list)?.absent)
      await forgetList(db, sql`(select source from sluice.sources where schema = ${schema})`, list.name);
    for (const table of [list, ...list.children]) {
      if (lacked(table)?.absent) continue;
      const columns = lacked(table)?.columns ?? [];
      const lists = table === list ? list.children.filter(child => lacked(child)?.absent) : [];
      for (const [field, count] of await fillFromExtra(db, table, columns, lists))
        unread.set(`${table.name}.${field}`, count);
    }
    const children = list.children.map(({ field, name, parent }) => ({ field, table: name, parent }));
    if (view || isPutBack) await createHistoryView(db, list.name, ...children);
    await recordFields(db, schema, list);
    if (masks.length === 0 && unmasked.length === 0) continue;
    const counts = await maskStored(db, schema, list, { masks, unmasked });
    masked.push(counts);
    await recordMasks(db, schema, list, { masks, unmasked, counts });
  }
  return { unread, masked };
}

/** What files in `lists/` declare of the list, in place of what was recorded: what has the same type as before is as old as before. */
async function recordFields(db: Db, schema: string, list: DeclaredTable): Promise<void> {
  const own = { schema, child_table: null, parent: null };
  const fields = [list, ...list.children].flatMap(table =>
    table.columns
      .filter(({ isFromFile }) => isFromFile)
      .map(({ name, type }) => ({ ...own, table_name: table.name, field: name, type })),
  );
  const children = list.children
    .filter(({ isFromFile }) => isFromFile)
    .map(({ field, name, parent }) => ({
      ...own,
      table_name: list.name,
      field,
      type: 'list',
      child_table: name,
      parent,
    }));
  const tables = [list, ...list.children].map(({ name }) => name);
  const before = await db
    .deleteFrom('sluice.declared_fields')
    .where('schema', '=', schema)
    .where('table_name', 'in', tables)
    .returning(['table_name', 'field', 'type', 'declared_at'])
    .execute();
  const identity = ({ table_name, field, type }: { table_name: string; field: string; type: string }) =>
    JSON.stringify([table_name, field, type]);
  const since = new Map(before.map(row => [identity(row), row.declared_at]));
  const rows = [...fields, ...children].map(row => ({ ...row, declared_at: since.get(identity(row)) ?? NOW }));
  if (rows.length > 0) await db.insertInto('sluice.declared_fields').values(rows).execute();
}

async function create(db: Db, { table, absent, columns, indexed }: LackingTable): Promise<void> {
  const name = sql.id(table.name);
  if (absent) {
    const key = sql.join(table.key.map(column => sql.id(column)));
    await sql`create table ${name} (${sql.join(columns.map(definition))}, primary key (${key}))`.execute(db);
  } else if (columns.length > 0) {
    await sql`alter table ${name} ${sql.join(columns.map(column => sql`add column ${definition(column)}`))}`.execute(
      db,
    );
  }
  for (const column of indexed) await sql`create index on ${name} (${sql.id(column)})`.execute(db);
}

const definition = ({ name, type, required }: Declared['columns'][number]): RawBuilder<unknown> =>
  sql`${sql.id(name)} ${sql.raw(type)}${required ? sql` not null` : sql``}`;
