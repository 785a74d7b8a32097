import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../database/database.ts';
import type { Table } from '../tables.ts';
import { isContent } from './row-batches.ts';

/** What changes of rows are logged with. */
export interface Change {
  readonly resource: string;
  readonly runId: string | null;
  /** The moment of the change here. */
  readonly at: RawBuilder<unknown>;
}

/**
 * CTEs after `changed` (`key`, `kind`, `earliest`) that number its rows and log them; `numbered` has the number of each. The numbers of a schema
 * are locked until the transaction ends, so they have no gaps and follow the order of commits: whoever locks tables of several lists locks all of
 * them, in the order of their names, before it writes. SQL: an insert whose numbers come from another.
 */
export const logCtes = ({ schema }: Table, { resource, runId, at }: Change): RawBuilder<unknown> => sql`
  counted as (
    insert into sluice.change_numbers as n (schema, last) select ${schema}, count(*) from changed having count(*) > 0
    on conflict (schema) do update set last = n.last + excluded.last
    returning last),
  numbered as materialized (
    select c.*, counted.last - count(*) over () + row_number() over () as number from changed c, counted),
  logged as (
    insert into ${sql.id(schema, 'change_log')} (number, resource, key, kind, earliest, seen_at, run_id)
    select number, ${resource}, key, kind, case when earliest > ${at} then ${at} else earliest end, ${at}, cast(${runId} as bigint) from numbered)`;

/** Since when a row can have changed at the source. Moments are texts that Postgres reads; null for those that are not known. */
export interface Logged {
  readonly source: string;
  /** As of when all stored rows were equal to the source, and no others were there. */
  readonly listAsOf: string | null;
  /** The same for the rows of the slice that showed this one, if the row was in it before. */
  readonly rowAsOf: (key: string) => string | null;
  /** A row may go from slice to slice. */
  readonly canMove: boolean;
  /** The column that decides which slice it is in; null where none does. */
  readonly by: string | null;
  /** The date of a row, where slices are windows of dates, whether or not they show just the rows dated in them. */
  readonly date: string | null;
}

/**
 * The rows that are written, and since when each can have changed. A row that was not stored as the source showed it (held, set aside or missing)
 * may have changed before its slice was last read.
 */
export function changedRows(
  table: Table,
  { resource, lagMs = 0 }: { readonly resource: string; readonly lagMs?: number },
  { source, listAsOf, canMove, by, date }: Logged,
  {
    names,
    lines,
    isWritten,
  }: {
    readonly names: readonly string[];
    /** Whether the child rows of `c` say something else. */
    readonly lines: RawBuilder<unknown>;
    readonly isWritten: RawBuilder<unknown>;
  },
): RawBuilder<unknown> {
  const key = sql.id(table.key.name);
  // A row whose values are held is written as it is, with another hash.
  const shown = names.filter(name => isContent(table, name) && name !== '_hash');
  const list = sql`cast(${listAsOf} as timestamptz)`;
  // A row that comes without the column has no slice of its own, and none was given for it.
  const stays =
    by === null || !names.includes(by) ? sql.lit(!canMove) : sql`t.${sql.id(by)} is not distinct from c.${sql.id(by)}`;
  const isNoted = (notes: string) => sql`exists (select from ${sql.table(notes)} n
    where n.source = ${source} and n.resource = ${resource} and n.key = c.${key}::text)`;
  const wasEqual = sql`not (${isNoted('sluice.held')} or ${isNoted('sluice.missing')} or ${isNoted('sluice.quarantine')})`;
  const lag = sql`make_interval(secs => ${lagMs / 1000}::float8)`;
  const proven = sql`coalesce(case when ${stays} then c._proven_at end, ${list})`;
  // A row without a date is in no window.
  const isDated =
    date === null ? sql.lit(true) : names.includes(date) ? sql`c.${sql.id(date)} is not null` : sql.lit(false);
  const lacks = sql`case when ${isDated} then ${list} end`;
  const differs = saysOther(table, shown);
  const wasDeleted = sql`exists (select from ${sql.id(table.schema, 'row_history')} h
    where h.resource = ${resource} and h.key = c.${key}::text and h.ended_by = 'deleted')`;
  return sql`
    select c.${key}::text as key, 'updated' as kind, greatest(t._read_at, case when ${wasEqual} then ${proven} end) - ${lag} as earliest
    from compared c join ${sql.id(table.schema, table.name)} t on t.${key} = c.${key}
    where ${isWritten} and c.known_read_at <= c._read_at and (${lines} or ${differs})
    union all
    select c.${key}::text, case when ${wasDeleted} then 'revived' else 'inserted' end,
      case when not ${isNoted('sluice.quarantine')} then ${canMove ? lacks : sql`coalesce(c._proven_at, ${list})`} end - ${lag}
    from compared c where not c.known`;
}

/** Whether one of these columns of the stored row `t` says something else than that of `c`, as the view `changes` compares them. */
export const saysOther = (table: Table, names: readonly string[]): RawBuilder<unknown> =>
  sql.join(
    names.map(name => differ(table, name)),
    sql` or `,
  );

function differ(table: Table, name: string): RawBuilder<unknown> {
  const [stored, given] = [sql.ref(`t.${name}`), sql.ref(`c.${name}`)];
  const isOther = sql`${stored} is distinct from ${given}`;
  const json = (value: RawBuilder<unknown>) =>
    name === '_extra' ? sql`coalesce(${value}, '{}')` : sql`to_jsonb(${value})`;
  // Other types have one way to say a value.
  const isLoose =
    name === '_extra' ||
    table.columns.some(column => column.name === name && (column.type === 'text' || column.type === 'jsonb'));
  return isLoose ? sql`(${isOther} and not sluice.is_same(${json(stored)}, ${json(given)}))` : isOther;
}

/** Whether changes of the list are logged: all of it was read before. */
export const isLogged = (
  source: string,
  resource: string,
): RawBuilder<boolean> => sql`exists (select from sluice.cursors
  where source = ${source} and resource = ${resource} and logs_since is not null)`;

/** Takes the keys out of the changes of a list, or of one of its rows, and leaves their numbers; returns of how many. */
export async function eraseLogged(
  tx: Db,
  { schema, resource }: { readonly schema: string; readonly resource: string },
  key: string | null = null,
): Promise<number> {
  const { numAffectedRows } = await sql`update ${sql.id(schema, 'change_log')} set key = null
    where resource = ${resource} and key is not null and (cast(${key} as text) is null or key = ${key})`.execute(tx);
  return Number(numAffectedRows ?? 0);
}
