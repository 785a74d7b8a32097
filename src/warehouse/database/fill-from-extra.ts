import { sql } from 'kysely';
import type { Db } from './database.ts';
import type { Declared, DeclaredChild, DeclaredColumn } from './declared-table.ts';

const BATCH = 1000;

/** A stored row with the fields that its job now declares. */
interface Kept {
  /** Where the row lies: nobody else changes it in a transaction that altered its table. */
  readonly at: string;
  readonly key: string;
  /** As JSON, in the order of the columns and lists; null for a field that it lacks. */
  readonly found: readonly (string | null)[];
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
  const name = sql.id(table.name);
  const found = sql.join(fields.map(field => sql`(_extra -> ${sql.lit(field)})::text`));
  await sql`declare kept no scroll cursor for select ctid::text as at, ${sql.id(table.key[0] ?? '')}::text as key, array[${found}] as found
    from ${name} where _extra ?| array[${sql.join(fields.map(field => sql.lit(field)))}]`.execute(db);
  for (;;) {
    const { rows } = await sql<Kept>`fetch ${sql.lit(BATCH)} from kept`.execute(db);
    if (rows.length === 0) break;
    const read = rows.map(row => {
      const moved: string[] = [];
      const take = <T>(index: number, of: (json: string) => T | undefined): T | null => {
        const json = row.found[index] ?? null;
        if (json === null) return null;
        const [value, field] = [of(json), fields[index] ?? ''];
        if (value === undefined) unread.set(field, (unread.get(field) ?? 0) + 1);
        else moved.push(field);
        return value ?? null;
      };
      const values = columns.map((column, index) => take(index, column.read ?? (() => undefined)));
      const items = lists.map((list, index) => take(columns.length + index, list.readRows) ?? []);
      return { ...row, values, items, moved };
    });
    const changed = read.filter(({ moved }) => moved.length > 0);
    const inputs = ['at', 'moved', ...columns.map((_, index) => `c${index}`)].map(each => sql.id(each));
    await sql`update ${name} t set ${sql.join([
      ...columns.map(
        (column, index) => sql`${sql.id(column.name)} = ${sql.id('i', `c${index}`)}::${sql.raw(column.type)}`,
      ),
      sql`_extra = nullif(t._extra - i.moved::text[], '{}')`,
    ])} from unnest(${sql.join([
      texts(changed.map(({ at }) => at)),
      texts(changed.map(({ moved }) => `{${moved.map(field => JSON.stringify(field)).join()}}`)),
      ...columns.map((_, index) => texts(changed.map(({ values }) => values[index] ?? null))),
    ])}) as i(${sql.join(inputs)}) where t.ctid = i.at::tid`.execute(db);
    for (const [index, list] of lists.entries())
      await insertRows(
        db,
        list,
        changed.map(({ key, items }) => ({ key, rows: items[index] ?? [] })),
      );
  }
  await sql`close kept`.execute(db);
  return unread;
}

async function insertRows(
  db: Db,
  { name, columns }: DeclaredChild,
  parents: readonly { key: string; rows: readonly NonNullable<ReturnType<DeclaredChild['readRows']>>[number][] }[],
): Promise<void> {
  // The parent and the line come first, `_extra` last.
  const lines = parents.flatMap(({ key, rows }) =>
    rows.map(({ values, extra }, index) => ({
      ...values,
      [columns[0]?.name ?? '']: key,
      line: String(index + 1),
      _extra: extra,
    })),
  ) as Readonly<Record<string, string | null>>[];
  const names = sql.join(columns.map(column => sql.id(column.name)));
  await sql`insert into ${sql.id(name)} (${names})
    select ${sql.join(columns.map(column => sql`${sql.id(column.name)}::${sql.raw(column.type)}`))}
    from unnest(${sql.join(columns.map(column => texts(lines.map(line => line[column.name] ?? null))))}) as i(${names})`.execute(
    db,
  );
}

const texts = (values: readonly (string | null)[]) => sql`cast(${values} as text[])`;
