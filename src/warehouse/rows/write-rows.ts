import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/database.ts';
import type { ChildTable, Column, Table } from './tables.ts';

/** One parsed record, as text that Postgres casts. A column that is absent from `values` keeps what is stored. */
export interface Row {
  readonly key: string;
  readonly values: Readonly<Record<string, string | null>>;
  /** By child field; absent: the stored child rows stay. */
  readonly children: Readonly<Record<string, readonly ChildRow[]>>;
  /** Unknown fields as JSON text, null when there are none. */
  readonly extra: string | null;
  /** Hex digest of the record with its children; null where the table keeps none. */
  readonly hash: string | null;
  /** Grant time of the request that brought it. */
  readonly readAt: string;
  /** What is stored under its key stays as it is: equal rows without an id are told apart only where all of them are shown. */
  readonly onlyIfNew?: boolean;
}

export interface ChildRow {
  readonly values: Readonly<Record<string, string | null>>;
  readonly extra: string | null;
}

export interface WriteResult {
  inserted: string[];
  updated: string[];
  unchanged: number;
  revived: number;
}

/** 1000 rows a statement: 85k rows/s on two connections; smaller batches lose a third, larger gain nothing. */
const BATCH = 1000;

/**
 * Makes the stored rows equal to `rows`. What is equal already is not written at all: the comparison is a lateral index lookup
 * per row of the answer, where `on conflict .. where is distinct from` would lock every row (239 MB of WAL for an unchanged
 * re-read of a million rows). A row read later than the one given is left alone.
 * `deep` compares every column and child row even where a hash says they are equal.
 */
export async function writeRows(
  tx: Db,
  table: Table,
  rows: readonly Row[],
  context: { resource: string; runId: string | null; deep: boolean },
): Promise<WriteResult> {
  const result: WriteResult = { inserted: [], updated: [], unchanged: 0, revived: 0 };
  // Grant times are texts that sort as the moments do.
  const latest = new Map<string, Row>();
  for (const row of rows) {
    const other = latest.get(row.key);
    if (other === undefined || supersedes(row, other)) latest.set(row.key, row);
  }
  for (const batch of groupByShape(table, [...latest.values()])) {
    const altered = context.deep ? await alteredChildren(tx, table, batch.rows) : new Set<string>();
    const written = await writeBatch(tx, table, batch, altered, context);
    await replaceChildren(tx, table, batch.rows, written);
    result.inserted.push(...written.inserted);
    result.updated.push(...written.updated);
    result.unchanged += batch.rows.length - written.inserted.length - written.updated.length;
    result.revived += written.revived;
  }
  return result;
}

const supersedes = (row: Row, other: Row): boolean =>
  row.onlyIfNew === other.onlyIfNew ? row.readAt >= other.readAt : other.onlyIfNew === true;

interface Batch {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

// Rows with the same set of present columns go into one statement; a source's rows nearly always share one.
function groupByShape(table: Table, rows: readonly Row[]): Batch[] {
  const groups = new Map<string, { columns: Column[]; rows: Row[] }>();
  for (const row of rows) {
    const columns = table.columns.filter(column => row.values[column.name] !== undefined);
    const shape = columns.map(column => column.name).join();
    const group = groups.get(shape);
    if (group) group.rows.push(row);
    else groups.set(shape, { columns, rows: [row] });
  }
  return [...groups.values()].flatMap(group => {
    const batches: Batch[] = [];
    for (let start = 0; start < group.rows.length; start += BATCH) {
      batches.push({ ...group, rows: group.rows.slice(start, start + BATCH) });
    }
    return batches;
  });
}

async function writeBatch(
  tx: Db,
  table: Table,
  batch: Batch,
  altered: ReadonlySet<string>,
  context: { resource: string; runId: string | null; deep: boolean },
): Promise<{ inserted: string[]; updated: string[]; revived: number }> {
  const target = sql.id(table.schema, table.name);
  const keyed = batch.columns.some(column => column.name === table.key.name);
  const data: { column: Column; values: (string | null)[] }[] = batch.columns.map(column => ({
    column,
    values: batch.rows.map(row => row.values[column.name] ?? null),
  }));
  if (!keyed) data.push({ column: table.key, values: batch.rows.map(row => row.key) });
  data.push({ column: { name: '_extra', type: 'jsonb' }, values: batch.rows.map(row => row.extra) });
  if (table.hashed)
    data.push({ column: { name: '_hash', type: 'bytea' }, values: batch.rows.map(row => `\\x${row.hash}`) });
  data.push({ column: { name: '_read_at', type: 'timestamptz' }, values: batch.rows.map(row => row.readAt) });

  const names = data.map(entry => entry.column.name);
  const content = names.filter(name => name !== '_read_at' && name !== table.key.name);
  const compared = table.hashed && !context.deep ? ['_hash'] : content;
  const key = sql.id(table.key.name);
  const of = (alias: string, columns: readonly string[]) => sql.join(columns.map(name => sql.ref(`${alias}.${name}`)));

  const old = sql.id(table.schema, 'row_history');
  const keepOld = table.history
    ? sql`, kept as (insert into ${old} (resource, key, row, valid_from, valid_to, ended_by, run_id)
        select ${context.resource}, t.${key}::text, to_jsonb(t), t._synced_at, n.now, 'changed', ${context.runId}::bigint
        from compared c join ${target} t on t.${key} = c.${key}, moment n where c.known and c.differs and c.known_read_at <= c._read_at)`
    : sql``;

  const { rows } = await sql<{ inserted: string[] | null; updated: string[] | null; revived: number }>`
    with moment as materialized (select sluice.now() as now),
    input as (
      select * from unnest(${sql.join([
        ...data.map(entry => arrayOf(entry.column.type, entry.values)),
        arrayOf(
          'boolean',
          batch.rows.map(row => String(altered.has(row.key))),
        ),
        arrayOf(
          'boolean',
          batch.rows.map(row => String(row.onlyIfNew === true)),
        ),
      ])})
        as i(${sql.join([...names, '_altered', '_only_if_new'].map(name => sql.id(name)))})
    ), compared as (
      select i.*, t.${key} is not null as known, t._read_at as known_read_at,
        not i._only_if_new and (i._altered or (${of('t', compared)}) is distinct from (${of('i', compared)})) as differs
      from input i left join lateral (select * from ${target} s where s.${key} = i.${key} offset 0) t on true
    ) ${keepOld}, updated as (
      update ${target} t set ${sql.join([...content, '_read_at'].map(name => sql`${sql.id(name)} = c.${sql.id(name)}`))}, _synced_at = n.now
      from compared c, moment n where c.known and c.differs and t._read_at <= c._read_at and t.${key} = c.${key}
      returning t.${key}
    ), inserted as (
      insert into ${target} (${sql.join(names.map(name => sql.id(name)))}, _synced_at)
      select ${of('c', names)}, n.now from compared c, moment n where not c.known
      returning ${key}
    ), revived as (
      delete from ${old} h using inserted i
      where h.resource = ${context.resource} and h.key = i.${key}::text and h.ended_by = 'deleted' returning 1
    )
    select (select array_agg(${key}::text) from inserted) as inserted, (select array_agg(${key}::text) from updated) as updated,
      (select count(*)::int from revived) as revived`.execute(tx);
  const row = rows[0];
  return { inserted: row?.inserted ?? [], updated: row?.updated ?? [], revived: row?.revived ?? 0 };
}

async function replaceChildren(
  tx: Db,
  table: Table,
  rows: readonly Row[],
  written: { inserted: readonly string[]; updated: readonly string[] },
): Promise<void> {
  const updated = new Set(written.updated);
  const touched = new Set([...written.inserted, ...written.updated]);
  for (const child of table.children) {
    const parents = rows.filter(row => touched.has(row.key) && row.children[child.field] !== undefined);
    const target = sql.id(table.schema, child.name);
    const replaced = parents.filter(row => updated.has(row.key)).map(row => row.key);
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

// Keys of rows whose stored child rows are not those of the record, whoever changed them.
async function alteredChildren(tx: Db, table: Table, rows: readonly Row[]): Promise<Set<string>> {
  const altered = new Set<string>();
  for (const child of table.children) {
    const parents = rows.filter(row => row.children[child.field] !== undefined);
    const { data, names } = childData(table, child, parents);
    const stored = sql`select ${names} from ${sql.id(table.schema, child.name)} t
      where ${sql.id(child.parent)} = any(${arrayOf(
        table.key.type,
        parents.map(row => row.key),
      )})`;
    const given = sql`select * from unnest(${sql.join(data.map(entry => arrayOf(entry.type, entry.values)))}) as g(${names})`;
    const { rows: found } = await sql<{ key: string }>`
      with stored as (${stored}), given as (${given})
      select distinct ${sql.id(child.parent)}::text as key
      from ((select * from stored except select * from given) union all (select * from given except select * from stored)) d`.execute(
      tx,
    );
    for (const { key } of found) altered.add(key);
  }
  return altered;
}

function childData(table: Table, child: ChildTable, parents: readonly Row[]) {
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

export function arrayOf(type: string, values: readonly (string | null)[]): RawBuilder<unknown> {
  return sql`cast(${values} as ${sql.raw(type)}[])`;
}
