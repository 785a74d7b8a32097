import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../database/database.ts';
import type { Table } from '../tables.ts';

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
