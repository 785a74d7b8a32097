import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { exactNumbers } from '../database/exact-numbers.ts';
import { NOW } from '../database/now.ts';
import type { Table } from './tables.ts';

/** A month that was closed. */
export interface Seal {
  readonly id: string;
  /** `YYYY-MM`. */
  readonly month: string;
  /** As Postgres writes it. */
  readonly sealedAt: string;
  /** SHA-256 of the text that `SEAL_TEXT` makes, hexadecimal. */
  readonly digest: string;
  readonly lists: readonly SealedList[];
}

export interface SealedList {
  readonly resource: string;
  readonly rows: number;
  /** Of each numeric column, as exact text. */
  readonly sums: Readonly<Record<string, string>>;
  readonly digest: string;
}

/** A list whose rows belong to months by a date. */
export interface DatedList {
  readonly resource: string;
  readonly table: Table;
  readonly dateField: string;
}

const sha256 = (text: string) => sql.raw(`encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`);

/** What a closed month `s` says of itself: the first line of its file. */
const SEAL_TEXT = `(select jsonb_build_object('source', s.source, 'month', s.month,
    'sealed_at', to_char(s.sealed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'lists', coalesce(jsonb_agg(jsonb_build_object('resource', l.resource, 'rows', l.rows, 'sums', l.sums, 'digest', l.digest)
      order by l.resource collate "C"), '[]'))::text
  from sluice.sealed_lists l where l.seal_id = s.id)`;

/** Keeps the rows that these lists hold of the month. SQL: functions and JSON. */
export async function sealMonth(tx: Db, source: string, month: string, lists: readonly DatedList[]): Promise<void> {
  await replaceSeal(tx, source, month);
  const { id } = await tx
    .insertInto('sluice.seals')
    .values({ source, month, sealed_at: NOW, digest: '' })
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const list of lists) await sealList(tx, id, month, list);
  await sql`update sluice.seals s set digest = ${sha256(SEAL_TEXT)} where id = cast(${id} as bigint)`.execute(tx);
}

/** Its digest stays, its rows do not. */
async function replaceSeal(tx: Db, source: string, month: string): Promise<void> {
  const replaced = await tx
    .updateTable('sluice.seals')
    .set({ replaced_at: NOW })
    .where('source', '=', source)
    .where('month', '=', month)
    .where('replaced_at', 'is', null)
    .returning('id')
    .execute();
  for (const { id } of replaced) await tx.deleteFrom('sluice.sealed_rows').where('seal_id', '=', id).execute();
}

async function sealList(tx: Db, id: string, month: string, { resource, table, dateField }: DatedList): Promise<void> {
  const children = JSON.stringify(table.children.map(({ field, name, parent }) => ({ field, table: name, parent })));
  const numeric = table.columns.filter(({ type }) => type === 'numeric').map(({ name }) => name);
  const sums = numeric.map(name => sql`${name}::text, coalesce(sum((row->>${name}::text)::numeric), 0)::text`);
  const list = { seal_id: id, resource, schema: table.schema, date_field: dateField, children };
  await tx
    .insertInto('sluice.sealed_lists')
    .values({ ...list, rows: 0, sums: '{}', digest: '' })
    .execute();
  await sql`insert into sluice.sealed_rows (seal_id, resource, key, row, hash)
    select cast(${id} as bigint), ${resource}::text, key, data, ${sha256(`jsonb_build_object('resource', list, 'key', key, 'row', data)::text`)}
    from sluice.month_rows(${table.schema}, ${resource}, ${dateField}, cast(${children} as jsonb), ${month}, cast(${id} as bigint), null),
      (select ${resource}::text as list) l`.execute(tx);
  await sql`update sluice.sealed_lists l set (rows, sums, digest) = (
      select count(*)::int, jsonb_build_object(${sql.join(sums)}),
        ${sha256(`coalesce(string_agg(hash || E'\\n', '' order by key collate "C"), '')`)}
      from sluice.sealed_rows r where r.seal_id = l.seal_id and r.resource = l.resource)
    where seal_id = cast(${id} as bigint) and resource = ${resource}`.execute(tx);
}

/** The closed months of a source, or one of them, the latest first. */
export async function readSeals(db: Db, source: string, month: string | null = null): Promise<Seal[]> {
  const { rows } = await sql<Seal>`
    select s.id::text, s.month, s.sealed_at as "sealedAt", s.digest, ${sql.raw(SEAL_TEXT)}::jsonb->'lists' as lists
    from sluice.seals s where s.source = ${source} and s.month = coalesce(${month}, s.month) and s.replaced_at is null
    order by s.month desc`.execute(db);
  return rows;
}

/** A row of a closed month that is not as it was. */
export interface Restatement {
  readonly month: string;
  readonly resource: string;
  readonly key: string;
  readonly kind: 'added' | 'changed' | 'deleted';
  /** The whole row; of a changed one, the fields that differ; numbers are exact texts. Null where there is none. */
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/** Those of one month. SQL: a function. */
export async function readRestatements(
  db: Db,
  source: string,
  { month, most = null }: { readonly month: string; readonly most?: number | null },
): Promise<Restatement[]> {
  const { rows } = await sql<Restatement>`
    select month, resource, key, kind, ${exactNumbers('before::json')} as before, ${exactNumbers('after::json')} as after from sluice.restated_rows()
    where source = ${source} and month = ${month} order by resource, key limit cast(${most} as bigint)`.execute(db);
  return rows;
}

/** How many rows of each list are not as they were. */
export interface RestatedList {
  readonly month: string;
  readonly resource: string;
  readonly added: number;
  readonly changed: number;
  readonly deleted: number;
}

/** `isExact`: rows that were not written since are compared, too. SQL: a function. */
export async function countRestatements(
  db: Db,
  source: string,
  { isExact }: { readonly isExact: boolean },
): Promise<RestatedList[]> {
  const ofKind = (kind: Restatement['kind']) => sql`(count(*) filter (where kind = ${kind}))::int`;
  const { rows } = await sql<RestatedList>`
    select month, resource, ${ofKind('added')} as added, ${ofKind('changed')} as changed, ${ofKind('deleted')} as deleted
    from sluice.restated_rows(${isExact}) where source = ${source} group by month, resource order by month desc, resource`.execute(
    db,
  );
  return rows;
}

/** A text that changes whenever rows of the lists of closed months do; null where none is closed. SQL: tables known at run time. */
export async function sealedState(db: Db, source: string): Promise<string | null> {
  const { rows: lists } = await sql<{ schema: string; resource: string }>`
    select distinct l.schema, l.resource from sluice.seals s join sluice.sealed_lists l on l.seal_id = s.id
    where s.source = ${source} and s.replaced_at is null and to_regclass(format('%I.%I', l.schema, l.resource)) is not null
    order by l.resource`.execute(db);
  if (lists.length === 0) return null;
  const moments = lists.flatMap(({ schema, resource }) => [
    sql`(select max(_synced_at) from ${sql.id(schema, resource)})`,
    sql`(select max(valid_to) from ${sql.id(schema, 'row_history')} where resource = ${resource})`,
  ]);
  const { rows } = await sql<{ state: string }>`
    select array[${sql.join(moments)}]::text || (select max(id) from sluice.seals where source = ${source}) as state`.execute(
    db,
  );
  return rows[0]?.state ?? null;
}

const LINES = 5000;

/** A closed month as lines of JSON, a few thousand at a time: itself, its rows by list and key, and those that are not as they were. SQL: JSON. */
export async function* sealedLines(db: Db, source: string, { id, month }: Seal): AsyncGenerator<readonly string[]> {
  const { rows: first } = await sql<{ line: string }>`
    select ${sql.raw(SEAL_TEXT)} as line from sluice.seals s where s.id = cast(${id} as bigint)`.execute(db);
  yield first.map(({ line }) => line);
  for (let last = { resource: '', key: '' }; ; ) {
    const { rows } = await sql<{ resource: string; key: string; line: string }>`
      select resource, key, (jsonb_build_object('resource', resource, 'key', key) || case when row is null
        then jsonb_build_object('erased', hash) else jsonb_build_object('row', row) end)::text as line
      from sluice.sealed_rows where seal_id = cast(${id} as bigint)
        and (resource collate "C", key collate "C") > (${last.resource}, ${last.key})
      order by resource collate "C", key collate "C" limit ${LINES}`.execute(db);
    if (rows.length === 0) break;
    yield rows.map(({ line }) => line);
    last = rows.at(-1) as typeof last;
  }
  const { rows } = await sql<{ line: string }>`
    select jsonb_build_object('restated', kind, 'resource', resource, 'key', key, 'before', before, 'after', after)::text as line
    from sluice.restated_rows() where source = ${source} and month = ${month} order by resource, key`.execute(db);
  yield rows.map(({ line }) => line);
}

/** Leaves nothing but the hashes of what closed months hold of a list, or of one of its rows; returns of how many rows. */
export async function eraseSealed(
  tx: Db,
  { schema, resource }: { readonly schema: string; readonly resource: string },
  key?: string,
): Promise<number> {
  const ofList = tx
    .selectFrom('sluice.sealed_lists')
    .select('seal_id')
    .where('schema', '=', schema)
    .where('resource', '=', resource);
  const { numUpdatedRows } = await tx
    .updateTable('sluice.sealed_rows')
    .set({ row: null })
    .where('seal_id', 'in', ofList)
    .where('resource', '=', resource)
    .where('row', 'is not', null)
    .$if(key !== undefined, query => query.where('key', '=', key as string))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
