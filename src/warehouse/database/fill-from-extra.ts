import { sql } from 'kysely';
import type { Db } from './database.ts';
import type { Declared, DeclaredChild, DeclaredColumn, DeclaredRow, DeclaredTable } from './declared-table.ts';

/** About 20,000 rows a second: the table is locked for so long. */
const BATCH = 1000;

/** A stored row that holds some of the fields. */
interface Kept {
  /** Where the row lies, which nobody else changes while the table is locked. */
  readonly at: string;
  readonly key: string;
  /** As JSON, in the order of the fields; null for one that it lacks. */
  readonly found: readonly (string | null)[];
}

interface Taken extends Pick<Kept, 'at' | 'key'> {
  /** The fields that leave `_extra`. */
  readonly moved: readonly string[];
  readonly values: readonly (string | null)[];
  readonly items: readonly (readonly DeclaredRow[])[];
}

/**
 * Moves fields out of `_extra` into new columns, and lists into new tables of children, as the job reads them. A value that it cannot read
 * stays where it is until the row is read again. Returns how many did, by field. `_read_at`, `_synced_at` and `_hash` stay: the row is the
 * source's as before. SQL: tables known at run time, and a cursor.
 */
export async function fillFromExtra(
  db: Db,
  table: Declared,
  added: readonly DeclaredColumn[],
  lists: readonly DeclaredChild[],
): Promise<Map<string, number>> {
  const unread = new Map<string, number>();
  const columns = added.filter(({ read }) => read);
  const fields = [...columns.map(({ name }) => name), ...lists.map(({ field }) => field)];
  if (fields.length === 0) return unread;
  const take = ({ at, key, found }: Kept): Taken => {
    const moved: string[] = [];
    const read = <T>(index: number, reader: ((json: string) => T | undefined) | undefined): T | null => {
      const [json, field] = [found[index] ?? null, fields[index] ?? ''];
      if (json === null) return null;
      const value = reader?.(json);
      if (value === undefined) unread.set(field, (unread.get(field) ?? 0) + 1);
      else moved.push(field);
      return value ?? null;
    };
    const values = columns.map((column, index) => read(index, column.read));
    const items = lists.map((list, index) => read(columns.length + index, list.readRows) ?? []);
    return { at, key, moved, values, items };
  };

  const name = sql.id(table.name);
  const kept = sql.join(fields.map(field => sql`(_extra -> ${sql.lit(field)})::text`));
  await sql`lock table ${name} in share row exclusive mode`.execute(db);
  await sql`declare kept no scroll cursor for select ctid::text as at, ${sql.id(table.key[0] ?? '')}::text as key, array[${kept}] as found
    from ${name} where _extra ?| array[${sql.join(fields.map(field => sql.lit(field)))}]`.execute(db);
  for (;;) {
    const { rows } = await sql<Kept>`fetch ${sql.lit(BATCH)} from kept`.execute(db);
    if (rows.length === 0) break;
    const taken = rows.map(take).filter(({ moved }) => moved.length > 0);
    await updateRows(db, table, columns, taken);
    for (const [index, list] of lists.entries()) await insertRows(db, list, index, taken);
  }
  await sql`close kept`.execute(db);
  return unread;
}

/** Fills the columns of rows that were restored as they were before their fields had columns. */
export async function fillRestored(db: Db, schema: string, list: DeclaredTable): Promise<void> {
  await sql`select set_config('search_path', quote_ident(${schema}), true)`.execute(db);
  for (const table of [list, ...list.children]) {
    const { rows } = await sql<{ field: string }>`
      select distinct field from ${sql.id(table.name)}, jsonb_object_keys(_extra) field where jsonb_typeof(_extra) = 'object'`.execute(
      db,
    );
    // One by one: a row may hold one of them there, and have the others in their columns.
    for (const { field } of rows)
      await fillFromExtra(
        db,
        table,
        table.columns.filter(({ name }) => name === field),
        [],
      );
  }
  await sql`set local search_path to default`.execute(db);
}

async function updateRows(db: Db, table: Declared, columns: readonly DeclaredColumn[], rows: readonly Taken[]) {
  const inputs = columns.map((column, index) => ({ ...column, input: `c${index}` }));
  await sql`update ${sql.id(table.name)} t set ${sql.join([
    ...inputs.map(({ name, type, input }) => sql`${sql.id(name)} = ${sql.id('i', input)}::${sql.raw(type)}`),
    sql`_extra = nullif(t._extra - i.moved::text[], '{}')`,
  ])} from unnest(${sql.join([
    texts(rows.map(({ at }) => at)),
    texts(rows.map(({ moved }) => `{${moved.map(field => `"${field}"`).join()}}`)),
    ...inputs.map((_, index) => texts(rows.map(({ values }) => values[index] ?? null))),
  ])}) as i(${sql.join(['at', 'moved', ...inputs.map(({ input }) => input)].map(each => sql.id(each)))})
  where t.ctid = i.at::tid`.execute(db);
}

/** The rows of the list at `index`. */
async function insertRows(db: Db, { name, parent, columns }: DeclaredChild, index: number, rows: readonly Taken[]) {
  const lines = rows.flatMap(({ key, items }) =>
    (items[index] ?? []).map(({ values, extra }, at): Readonly<Record<string, string | null>> => {
      return { ...values, [parent]: key, line: String(at + 1), _extra: extra };
    }),
  );
  const names = sql.join(columns.map(column => sql.id(column.name)));
  await sql`insert into ${sql.id(name)} (${names})
    select ${sql.join(columns.map(column => sql`${sql.id(column.name)}::${sql.raw(column.type)}`))}
    from unnest(${sql.join(columns.map(column => texts(lines.map(line => line[column.name] ?? null))))}) as i(${names})`.execute(
    db,
  );
}

const texts = (values: readonly (string | null)[]) => sql`cast(${values} as text[])`;
