import type pg from 'pg';
import { nearestName } from '../../nearest-name.ts';

/**
 * The table or view that was probably meant, when Postgres says that the one of the query does not exist: `Did you mean
 * "invoices"? `, or nothing. Ends the transaction that failed, in which no name can be read.
 */
export async function nearRelation(
  client: pg.PoolClient,
  { code, message }: pg.DatabaseError,
  schema: string,
): Promise<string> {
  const given = code === '42P01' ? message.split('"')[1] : undefined;
  if (given === undefined) return '';
  await client.query('rollback');
  const { rows } = await client.query<{ name: string }>(
    `select case when $2 then n.nspname || '.' || c.relname else c.relname end as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ($1, 'sluice', 'public') and c.relkind in ('r', 'p', 'v', 'm') order by 1`,
    [schema, given.includes('.')],
  );
  const near = nearestName(
    given,
    rows.map(({ name }) => name),
  );
  return near === undefined ? '' : `Did you mean "${near}"? `;
}
