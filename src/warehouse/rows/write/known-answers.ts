import { type RawBuilder, sql } from 'kysely';
import { arrayOf } from '../../database/arrays.ts';
import type { Db } from '../../database/database.ts';
import type { Place } from '../../ledgers/sources.ts';
import { fromStored, toStored } from '../../ledgers/stored-keys.ts';
import type { Table } from '../tables.ts';

/** An answer of a list, and the rows that were stored as it showed them. */
export interface KnownAnswer {
  readonly page: number;
  /** Rows that were asked for. */
  readonly limit: number;
  readonly digest: string;
  /** The fields that rows of the list carried: where a row omits one, it is empty. */
  readonly fields: string;
  /** In the order of the answer. */
  readonly keys: readonly string[];
  /** Of the stored rows with their children: whoever writes, adds or removes one changes it. */
  readonly checksum: string;
}

/** An answer whose rows are stored as it shows them. `query`: the filter that it answers, '' for none. */
export interface ShownAnswer extends Omit<KnownAnswer, 'checksum'> {
  readonly query: string;
  /** Of the rows that this transaction inserted: how many child rows each has, by key. */
  readonly inserted?: ReadonlyMap<string, number>;
}

/** How many rows of the list lie before a page, by its address. */
export const rowsBefore = ({ page, limit }: Pick<KnownAnswer, 'page' | 'limit'>): number => (page - 1) * limit;

/** The answers to a filter that came before, in the order of the list: at most `most` of those with `from` to `to` rows before them. */
export async function readAnswers(
  db: Db,
  { source, resource }: Place,
  { query, from, to, most }: { query: string; from: number; to: number; most: number },
): Promise<KnownAnswer[]> {
  const rows = await db
    .selectFrom('sluice.answers')
    .select(['page', 'rows_asked', 'digest', 'fields', 'keys', 'checksum'])
    .where('source', '=', source)
    .where('resource', '=', resource)
    .where('query', '=', query)
    .where('rows_before', '>=', from)
    .where('rows_before', '<=', to)
    .orderBy('rows_before')
    .limit(most)
    .execute();
  return rows.map(({ rows_asked: limit, keys, ...answer }) => ({ ...answer, limit, keys: unpackKeys(keys) }));
}

/**
 * Keeps the answers for the next reading, in place of those that began where they lie, but for their last row, with which the next may begin.
 * SQL: sums over a table known at run time.
 */
export async function keepAnswers(
  db: Db,
  { source, resource }: Place,
  table: Table,
  answers: readonly ShownAnswer[],
): Promise<void> {
  if (answers.length === 0) return;
  const latest = [...new Map(answers.map(answer => [`${answer.query} ${rowsBefore(answer)}`, answer])).values()];
  const given = latest.map((answer, n) => {
    const { query, page, limit, digest, fields, keys } = answer;
    const [before, rows] = [rowsBefore(answer), keys.length];
    return { n, query, before, page, limit, digest, fields, rows, keys: packKeys(keys) };
  });
  await sql`
    with given as materialized (
      select * from jsonb_to_recordset(cast(${JSON.stringify(given)} as jsonb))
        as g(n int, query text, before int, page int, "limit" int, digest text, fields text, rows int, keys text)
    ), replaced as (
      delete from sluice.answers a using given g
      where a.source = ${source} and a.resource = ${resource} and a.query = g.query
        and a.rows_before > g.before and a.rows_before < g.before + g.rows - 1
        and not exists (select from given o where o.query = a.query and o.before = a.rows_before)
    )
    insert into sluice.answers as a (source, resource, query, rows_before, page, rows_asked, digest, fields, keys, checksum)
    select ${source}, ${resource}, g.query, g.before, g.page, g."limit", g.digest, g.fields, g.keys, s.checksum
    from given g join (${checksums(table, latest)}) s on s.n = g.n and s.rows = g.rows
    on conflict (source, resource, query, rows_before) do update set page = excluded.page, rows_asked = excluded.rows_asked,
      digest = excluded.digest, fields = excluded.fields, keys = excluded.keys, checksum = excluded.checksum, kept_at = excluded.kept_at`.execute(
    db,
  );
}

/** Which of the answers still have all of their rows stored as they showed them. */
export async function stillStored(
  db: Db,
  table: Table,
  answers: readonly Pick<KnownAnswer, 'keys' | 'checksum'>[],
): Promise<boolean[]> {
  if (answers.length === 0) return [];
  const { rows } = await sql<{ n: number; rows: number; checksum: string }>`${checksums(table, answers)}`.execute(db);
  const now = new Map(rows.map(row => [row.n, row]));
  return answers.map(({ keys, checksum }, n) => {
    const found = now.get(n);
    return found?.rows === keys.length && found.checksum === checksum;
  });
}

/**
 * For each answer `n`: how many of its rows are stored, and their checksum. `xmin` tells which transaction wrote a row: whoever writes it again
 * leaves another. So the checksum of what this transaction inserted needs no look at the rows, which would cost a first load a tenth.
 */
function checksums(
  { schema, name, key, children }: Table,
  answers: readonly Pick<ShownAnswer, 'keys' | 'inserted'>[],
): RawBuilder<unknown> {
  const rows = answers.flatMap(({ keys, inserted }, n) => keys.map(id => ({ n, id, lines: inserted?.get(id) })));
  const column = (type: string, of: typeof rows, name: 'n' | 'id' | 'lines') =>
    arrayOf(
      type,
      of.map(row => String(row[name])),
    );
  const given = (of: typeof rows) => [column('int', of, 'n'), column(key.type, of, 'id')];
  const [fresh, others] = [rows.filter(row => row.lines !== undefined), rows.filter(row => row.lines === undefined)];
  const ofLines = children.map(
    child =>
      sql` + coalesce((select sum(${writtenBy('c.xmin')}) from ${sql.id(schema, child.name)} c where c.${sql.id(child.parent)} = k.key), 0)`,
  );
  return sql`
    select n, count(*)::int as rows, (sum(written) + ${layoutOf(schema, [name, ...children.map(child => child.name)])})::text as checksum
    from (
      select k.n, ${writtenBy('pg_current_xact_id()::xid')} * (1 + k.lines)::numeric as written
      from unnest(${sql.join([...given(fresh), column('int', fresh, 'lines')])}) as k(n, key, lines)
      union all
      select k.n, ${writtenBy('t.xmin')}${sql.join(ofLines, sql``)} as written
      from unnest(${sql.join(given(others))}) as k(n, key)
      cross join lateral (select xmin from ${sql.id(schema, name)} s where s.${sql.id(key.name)} = k.key offset 0) t
    ) r
    group by n`;
}

/** Of the row with the key `k.key`. */
const writtenBy = (transaction: string): RawBuilder<unknown> =>
  sql`hash_record_extended(row(k.key, ${sql.raw(transaction)}), 0)::numeric`;

/** A column that was dropped and created anew has another number; the rows are not written for it. */
const layoutOf = (schema: string, tables: readonly string[]): RawBuilder<unknown> => sql`(
  select sum(hash_record_extended(row(a.attrelid, a.attnum, a.attname), 0)) from pg_attribute a join pg_class r on r.oid = a.attrelid
    join pg_namespace n on n.oid = r.relnamespace
  where n.nspname = ${schema} and r.relname = any(${tables}) and a.attnum > 0 and not a.attisdropped)`;

/** Ids in their order as runs, the descending ones behind a `-`; any others as JSON. */
function packKeys(keys: readonly string[]): string {
  const { ids, others } = toStored(keys);
  if (others === undefined)
    for (const [sign, inOrder] of [
      ['', keys],
      ['-', [...keys].reverse()],
    ] as const)
      if (isAscending(inOrder)) return sign + ids;
  return JSON.stringify(keys);
}

const isAscending = (ids: readonly string[]): boolean =>
  ids.every((id, index) => index === 0 || Number(ids[index - 1]) < Number(id));

function unpackKeys(text: string): string[] {
  if (text.startsWith('[')) return JSON.parse(text) as string[];
  return text.startsWith('-') ? fromStored({ ids: text.slice(1) }).reverse() : fromStored({ ids: text });
}
