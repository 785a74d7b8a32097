import { type RawBuilder, sql } from 'kysely';
import { arrayOf } from '../../database/arrays.ts';
import type { Db } from '../../database/database.ts';
import type { ChildTable, Table } from '../tables.ts';

export interface ChildRow {
  readonly values: Readonly<Record<string, string | null>>;
  readonly extra: string | null;
}

interface Parent {
  readonly key: string;
  /** By child field; absent: the stored child rows stay. */
  readonly children: Readonly<Record<string, readonly ChildRow[]>>;
}

/** Replaces the child rows of written parents. `orphans`: somebody may have deleted an inserted parent before, and left its child rows. */
export async function replaceChildren(
  tx: Db,
  table: Table,
  rows: readonly Parent[],
  written: { inserted: readonly string[]; updated: readonly string[] },
  orphans: boolean,
): Promise<void> {
  const updated = new Set(written.updated);
  const touched = new Set([...written.inserted, ...written.updated]);
  for (const child of table.children) {
    const parents = rows.filter(row => touched.has(row.key) && row.children[child.field] !== undefined);
    const target = sql.id(table.schema, child.name);
    const replaced = parents.filter(row => orphans || updated.has(row.key)).map(row => row.key);
    if (replaced.length > 0) {
      await sql`delete from ${target} t using unnest(${arrayOf(table.key.type, replaced)}) as k(key) where t.${sql.id(child.parent)} = k.key`.execute(
        tx,
      );
    }
    const { data, names } = childData(table, child, parents);
    if (data[0] && data[0].values.length > 0) {
      await sql`insert into ${target} (${names}) select * from unnest(${sql.join(data.map(entry => arrayOf(entry.type, entry.values)))})`.execute(
        tx,
      );
    }
  }
}

/** Keys of rows whose stored child rows differ from the record's, and of those among them whose child rows say something else. */
export interface Altered {
  readonly altered: ReadonlySet<string>;
  readonly changed: ReadonlySet<string>;
}

/** Compares stored child rows with those of the records, whoever changed them. */
export async function alteredChildren(tx: Db, table: Table, rows: readonly Parent[]): Promise<Altered> {
  const altered = new Set<string>();
  const changed = new Set<string>();
  for (const child of table.children) {
    const parents = rows.filter(row => row.children[child.field] !== undefined);
    const { data, names } = childData(table, child, parents);
    const stored = sql`select ${names} from ${sql.id(table.schema, child.name)} t
      where ${sql.id(child.parent)} = any(${arrayOf(
        table.key.type,
        parents.map(row => row.key),
      )})`;
    const given = sql`select * from unnest(${sql.join(data.map(entry => arrayOf(entry.type, entry.values)))}) as g(${names})`;
    const parent = sql.id(child.parent);
    // As the view `changes` shows them.
    const lines = (
      of: RawBuilder<unknown>,
    ) => sql`(select coalesce(jsonb_agg(sluice.plain_row(to_jsonb(l) - array[${child.parent}::text, 'line'])
      order by l.line), '[]') from ${of} l where l.${parent} = d.key)`;
    const { rows: found } = await sql<{ key: string; isChanged: boolean }>`
      with stored as (${stored}), given as (${given}), different as (
        select distinct ${parent} as key
        from ((select * from stored except select * from given) union all (select * from given except select * from stored)) d)
      select d.key::text as key, not sluice.is_same(${lines(sql`stored`)}, ${lines(sql`given`)}) as "isChanged" from different d`.execute(
      tx,
    );
    for (const { key, isChanged } of found) {
      altered.add(key);
      if (isChanged) changed.add(key);
    }
  }
  return { altered, changed };
}

function childData(table: Table, child: ChildTable, parents: readonly Parent[]) {
  const lines = parents.flatMap(row =>
    (row.children[child.field] ?? []).map((item, index) => ({ row, item, line: index + 1 })),
  );
  const data = [
    { type: table.key.type, values: lines.map(({ row }) => row.key) },
    { type: 'integer', values: lines.map(({ line }) => String(line)) },
    ...child.columns.map(column => ({
      type: column.type,
      values: lines.map(({ item }) => item.values[column.name] ?? null),
    })),
    { type: 'jsonb', values: lines.map(({ item }) => item.extra) },
  ];
  const names = sql.join(
    [child.parent, 'line', ...child.columns.map(column => column.name), '_extra'].map(name => sql.id(name)),
  );
  return { data, names };
}
