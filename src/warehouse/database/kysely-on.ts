import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { isKind } from '../../errors.ts';
import type { SluiceTables } from './bookkeeping-tables.ts';

/** Kysely over the connections that `lend` gives out; it releases each after its query. */
export function kyselyOn(lend: () => Promise<PostgresPoolClient>): Kysely<SluiceTables> {
  return new Kysely({ dialect: new PostgresDialect({ pool: { connect: lend, end: async () => undefined } }) });
}

/**
 * A connection as Kysely sees it, with errors explained; a cursor passes through unchanged. Kysely releases a failed connection like
 * a sound one, so a failed one is marked here for the pool to discard.
 */
export function lendClient(
  client: pg.PoolClient,
  {
    explained,
    statementOf,
    release = broken => client.release(broken),
  }: {
    readonly explained: <T>(work: Promise<T>) => Promise<T>;
    readonly statementOf: (text: string, parameters?: readonly unknown[]) => pg.QueryConfig;
    readonly release?: ((broken: boolean) => void) | undefined;
  },
): PostgresPoolClient {
  let broken = false;
  const queryText = async (text: string, parameters?: unknown[]) => {
    try {
      return await explained(client.query(statementOf(text, parameters)));
    } catch (error) {
      broken ||= isKind(error, 'database');
      throw error;
    }
  };
  const query = (first: unknown, parameters?: unknown[]) =>
    typeof first === 'string' ? queryText(first, parameters) : client.query(first as pg.Submittable);
  return { query: query as unknown as PostgresPoolClient['query'], release: () => release(broken) };
}
