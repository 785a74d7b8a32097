import { sql } from 'kysely';
import pg from 'pg';
import type { Database } from '../database/database.ts';

/** The numbers of the changes that are kept. */
export interface Numbers {
  readonly first: number;
  readonly last: number;
}

/** Why nobody can go on with the change `from`; null where that is the next at most. */
export function whyNotFrom({ first, last }: Numbers, from: number): string | null {
  if (from < first) return `Changes before ${first} are no longer kept.`;
  return from > last + 1 ? `The newest change is ${last}: if you know of later ones, the database was restored.` : null;
}

/** Those of a schema; `last` is 0 where there is none yet. */
export async function readNumbers(database: Database, schema: string): Promise<Numbers> {
  const { rows } = await database.query<Record<keyof Numbers, number>>(
    'select first::float8 as first, last::float8 as last from sluice.change_numbers where schema = $1',
    [schema],
  );
  return rows[0] ?? { first: 1, last: 0 };
}

const LONGEST_VALUE = 40;
const MOST_FIELDS = 8;

const shortValue = (row: string): string => {
  const text = `coalesce(${row}->>f.name, 'null')`;
  return `case when length(${text}) > ${LONGEST_VALUE} then left(${text}, ${LONGEST_VALUE - 1}) || '…' else ${text} end`;
};

/** What an update changed, as `status: Unpaid -> Paid; ..`. */
const DIFFERENCES = `case when kind = 'updated' then (
  select string_agg(text, '; ' order by name) from (
    select f.name, f.name || ': ' || ${shortValue('before')} || ' -> ' || ${shortValue('after')} as text
    from jsonb_object_keys(after) f(name) order by f.name limit ${MOST_FIELDS}) d) end`;

/**
 * A query for changes by their numbers, in their order: all `from` .. `to`, those seen in the last `since` milliseconds, or the `newest`. `isText`: number, time, what changed, and
 * how, and the list, key and kind apart; otherwise all columns. `where` is SQL from the person who runs it, for a login that may only read.
 */
export function changesQuery({
  from = 0,
  to,
  since,
  newest,
  resource,
  where,
  isText = false,
  changes = 'changes',
}: {
  readonly from?: number | undefined;
  readonly to: number;
  readonly since?: number | undefined;
  readonly newest?: number;
  readonly resource?: string | undefined;
  readonly where?: string | undefined;
  readonly isText?: boolean;
  /** The view, where its schema is not the first that names are looked up in. */
  readonly changes?: string;
}): string {
  const conditions = [
    `number between ${from} and ${to}`,
    ...(since === undefined ? [] : [`seen_at >= now() - interval '${since} milliseconds'`]),
    ...(resource === undefined ? [] : [`resource = '${resource.replaceAll("'", "''")}'`]),
    // A comment at its end ends with the line.
    ...(where === undefined ? [] : [`(${where}\n)`]),
  ].join(' and ');
  const found =
    newest === undefined
      ? `select * from ${changes} where ${conditions}`
      : `select * from ${changes} where ${conditions} order by number desc limit ${newest}`;
  const columns = isText
    ? `number, seen_at, resource || ' ' || coalesce(key, '(erased)') || ' ' || kind as what, ${DIFFERENCES} as change, resource, key, kind`
    : '*';
  return `select ${columns} from (${found}) found order by number`;
}

/**
 * A query for the first of `changes` (a query for rows of `number` and `data`): at most `most`, and once they have `bytes` bytes together, none
 * after them. At least two, if there are: one alone may be larger.
 */
export const firstThatFit = (changes: string, { most, bytes }: { readonly most: number; readonly bytes: number }) =>
  `select number, data from (
    select number::text, data, row_number() over (order by c.number) as place,
      sum(octet_length(data)) over (order by c.number rows between unbounded preceding and 1 preceding) as before
    from (${changes} order by number limit ${most}) c
  ) found where place <= 2 or before <= ${bytes} order by number::bigint`;

/** What is read at once: a change may be as large as its row. */
const AT_ONCE = { most: 100, bytes: 2 ** 20 };

/**
 * The first of the changes `from` .. `to`, in their order, each as JSON text with the columns of the view; numbers in it are exact. At most 100,
 * and about 1 MB.
 */
export async function readChanges(
  { kysely }: Database,
  schema: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<{ number: string; data: string }[]> {
  const all = `select number, row_to_json(w)::text as data from ${pg.escapeIdentifier(schema)}.changes w where number between ${from} and ${to}`;
  const { rows } = await sql<{ number: string; data: string }>`${sql.raw(firstThatFit(all, AT_ONCE))}`.execute(kysely);
  return rows;
}
