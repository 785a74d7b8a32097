import { sql } from 'kysely';
import { arrayOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';

/** What of a list is not simply stored. */
export interface Exceptions {
  /** Rows of it are missing. */
  readonly isMissing: boolean;
  /** Records of it are in quarantine. */
  readonly isQuarantined: boolean;
  /** Columns and child fields of which values are held. */
  readonly held: readonly string[];
}

export const NO_EXCEPTIONS: Exceptions = { isMissing: false, isQuarantined: false, held: [] };

/** By resource. SQL: one row a name, whatever the tables hold. */
export async function readExceptions(
  db: Db,
  source: string,
  resources: readonly string[],
): Promise<Map<string, Exceptions>> {
  const { rows } = await sql<Exceptions & { resource: string }>`
    select resource,
      exists (select from sluice.missing m where m.source = ${source} and m.resource = names.resource) as "isMissing",
      exists (select from sluice.quarantine q
        where q.source = ${source} and q.resource = names.resource and q.resolved_at is null) as "isQuarantined",
      array(select distinct h.field from sluice.held h where h.source = ${source} and h.resource = names.resource) as held
    from unnest(${arrayOf('text', resources)}) as names(resource)`.execute(db);
  return new Map(rows.map(({ resource, ...exceptions }) => [resource, exceptions]));
}
