import { createHash } from 'node:crypto';
import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { isKind } from '../../errors.ts';
import type { SluiceTables } from './bookkeeping-tables.ts';

type StatementOf = (text: string, parameters?: readonly unknown[]) => pg.QueryConfig;

/** Texts that are told apart; a program that builds more of them by its data gains nothing from keeping them prepared. */
const MOST_TEXTS = 1000;

/**
 * A statement as the driver takes it. One with parameters has a name from its second use on, which keeps it prepared on each connection and
 * saves its planning (0.3 ms for a count through an index). Without parameters, a text may hold several statements, which cannot be prepared.
 */
export function createStatements(): StatementOf {
  const names = new Map<string, string | undefined>();
  const nameOf = (text: string) => {
    if (!names.has(text)) {
      if (names.size < MOST_TEXTS) names.set(text, undefined);
      return undefined;
    }
    const name = names.get(text) ?? createHash('sha256').update(text).digest('base64url').slice(0, 22);
    names.set(text, name);
    return name;
  };
  return (text, parameters = []) => {
    const name = parameters.length > 0 ? nameOf(text) : undefined;
    return { text, values: parameters as unknown[], ...(name && { name }) };
  };
}

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
    readonly statementOf: StatementOf;
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
