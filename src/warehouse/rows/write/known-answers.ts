import { type RawBuilder, sql } from 'kysely';
import { arrayOf } from '../../database/arrays.ts';
import type { Db } from '../../database/database.ts';
import type { Place } from '../../ledgers/sources.ts';
import { fromStored, toStored } from '../../ledgers/stored-keys.ts';
import type { Table } from '../tables.ts';
import { refs, stored } from './row-batches.ts';

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
  /** Of the stored rows with their children: any other row or value changes it. */
  readonly checksum: string;
}

/** An answer whose rows are stored as it shows them. `query`: the filter that it answers, '' for none. */
export interface ShownAnswer extends Omit<KnownAnswer, 'checksum'> {
  readonly query: string;
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
  const given = latest.map(({ keys, ...answer }, n) => ({
    ...{ n, ...answer, before: rowsBefore(answer), rows: keys.length, keys: packKeys(keys) },
  }));
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

/** For each answer `n`: how many of its rows are stored, and their checksum. */
function checksums(table: Table, answers: readonly { readonly keys: readonly string[] }[]) {
  const { schema, key, columns, children, hashed } = table;
  const numbers = answers.flatMap(({ keys }, n) => keys.map(() => `${n}`));
  const keys = answers.flatMap(answer => answer.keys);
  const own = [
    ...new Set([key.name, ...namesOf(columns), '_extra', ...(hashed ? ['_hash'] : []), '_read_at', '_synced_at']),
  ];
  const ofChildren = children.map(
    child => sql` + coalesce((select sum(${hashOf('c', [child.parent, 'line', ...namesOf(child.columns), '_extra'])}) from ${sql.id(schema, child.name)} c
      where c.${sql.id(child.parent)} = ${sql.ref(`k.${key.name}`)}), 0)`,
  );
  return sql`
    select k._answer as n, count(t.${sql.id(key.name)})::int as rows, sum(${hashOf('t', own)}${concat(ofChildren)})::text as checksum
    from unnest(${arrayOf('int', numbers)}, ${arrayOf(key.type, keys)}) as k(_answer, ${sql.id(key.name)})
    left join ${stored(table, 'k')} on true
    group by k._answer`;
}

const namesOf = (columns: Table['columns']): string[] => columns.map(column => column.name);

/** Of Sluice's own columns: somebody may have added others, of types that cannot be hashed. */
const hashOf = (alias: string, names: readonly string[]): RawBuilder<unknown> =>
  sql`hash_record_extended(row(${refs(alias, names)}), 0)`;

const concat = (parts: readonly RawBuilder<unknown>[]): RawBuilder<unknown> => sql.join(parts, sql``);

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
