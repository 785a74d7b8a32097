import { sql } from 'kysely';
import { SluiceError } from '../../errors.ts';
import { acceptAddress, discard } from '../../next-steps.ts';
import type { Db } from '../database/database.ts';
import { NOW } from '../database/now.ts';

/** One resource of one source: the owner of a piece of bookkeeping. */
export interface Place {
  readonly source: string;
  readonly resource: string;
}

/** A source and the schema that it is configured for. */
interface Placed {
  readonly source: string;
  readonly schema: string;
}

/** What is known of a source, and of others in the schema that it is configured for. */
interface Known {
  readonly address: string | null;
  readonly schema: string | null;
  readonly currency: string | null;
  readonly wasRead: boolean;
  /** Another source that was read into that schema. */
  readonly other: string | null;
}

/** Something was read from the source, so that what is known of it must stay true. */
const wasRead = sql<boolean>`exists (select from sluice.coverage c where c.source = s.source and read_at is not null)`;

/**
 * Records where a source is read from, into which schema, and what its amounts are in. Throws kind `configuration` once something was read from another
 * address (its rows would be taken for deleted) or into another schema (empty tables would be taken for proven), or when another
 * source was read into the schema (each would delete the other's rows). `moved`: the same installation at a new address.
 */
export async function recogniseSource(
  db: Db,
  given: Placed & { url: string; currency: string | null; moved: boolean },
): Promise<void> {
  const { source, schema, currency, moved } = given;
  const { host, pathname } = new URL(given.url);
  const address = `${host}${pathname}`.replace(/\/+$/, '');
  const known = await lookUp(db, given);
  if (known.wasRead && known.address !== address && !moved) throw otherAddress(source, known.address, address);
  refuseSchema(known, given);
  // A service calls this before each of its turns: unchanged, nothing is written.
  if (known.address === address && known.schema === schema && known.currency === currency) return;
  await db
    .insertInto('sluice.sources')
    .values({ source, address, schema, currency, since: NOW })
    .onConflict(conflict =>
      conflict.column('source').doUpdateSet(eb => ({
        address: eb.ref('excluded.address'),
        schema: eb.ref('excluded.schema'),
        currency: eb.ref('excluded.currency'),
        since: sql<string>`case when sources.address = excluded.address then sources.since else excluded.since end`,
      })),
    )
    .execute();
}

/** Throws kind `configuration` when the rows in the schema belong to another source, so that they must not be reset by this name. */
export async function refuseOthersRows(db: Db, given: Placed): Promise<void> {
  const known = await lookUp(db, given);
  // Where another source was read into the same schema as well, a reset is the remedy.
  if (!known.wasRead || known.schema !== given.schema) refuseSchema(known, given);
}

/** Forgets where a source was read from once nothing that was read is left. */
export async function forgetSource(db: Db, source: string): Promise<void> {
  await db
    .deleteFrom('sluice.sources as s')
    .where('source', '=', source)
    .where(eb =>
      eb.not(eb.exists(eb.selectFrom('sluice.coverage as c').select('c.source').whereRef('c.source', '=', 's.source'))),
    )
    .execute();
}

/** SQL: one row even for a source that is not known yet. */
async function lookUp(db: Db, { source, schema }: Placed): Promise<Known> {
  const { rows } = await sql<Known>`
    select s.address, s.schema, s.currency, ${wasRead} as "wasRead",
      (select min(s.source) from sluice.sources s where s.schema = ${schema} and s.source <> ${source} and ${wasRead}) as other
    from (values (${source})) as given(name) left join sluice.sources s on s.source = given.name`.execute(db);
  return rows[0] as Known;
}

function otherAddress(source: string, known: string | null, address: string): SluiceError {
  return new SluiceError(
    'configuration',
    `Source "${source}" was read from ${known} so far, but its address is now ${address}.`,
    {
      next: `If it is the same installation at a new address: ${acceptAddress(source)}. If it is another installation, give it its own name and schema in sources.json (without that file: another WAREHOUSE_SCHEMA), or discard the stored rows, resource by resource: ${discard('<resource>', source)}`,
    },
  );
}

function refuseSchema(known: Known, { source, schema }: Placed): void {
  const { other } = known;
  if (known.wasRead && known.schema !== null && known.schema !== schema)
    throw new SluiceError(
      'configuration',
      `The rows of source "${source}" are in the schema "${known.schema}", but it is now configured for the schema "${schema}".`,
      {
        next: `Change the schema back to "${known.schema}", or give this source a new name. To read everything again: with the schema "${known.schema}", run ${discard('<resource>', source)} for each resource, then change the schema.`,
      },
    );
  if (other !== null)
    throw new SluiceError(
      'configuration',
      `The schema "${schema}" holds the rows of source "${other}", but source "${source}" is configured for it as well.`,
      {
        next: `Give "${source}" its own schema in sources.json (without that file: another WAREHOUSE_SCHEMA). If "${source}" is "${other}" renamed, restore the old name; or, under the old name, run ${discard('<resource>', other)} for each resource, then read everything again under the new name.`,
      },
    );
}
