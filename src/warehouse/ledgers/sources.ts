import { sql } from 'kysely';
import { SluiceError } from '../../errors.ts';
import type { Db } from '../database/database.ts';

/** A source, and the schema that it is set to. */
interface Placed {
  readonly source: string;
  readonly schema: string;
}

/** What is remembered of a source, and of others in the schema that it is set to. */
interface Known {
  readonly address: string | null;
  readonly schema: string | null;
  readonly wasRead: boolean;
  /** Another one that was read into that schema. */
  readonly other: string | null;
}

/** Anything of the source has been read: what is known of it must stay true. */
const wasRead = sql<boolean>`exists (select from sluice.coverage c where c.source = s.source and read_at is not null)`;

/**
 * Remembers where a source is read from and into which schema. Kind `configuration` once something was read, when that was another
 * installation so far: its rows would be taken for deleted, and the others for theirs; or another schema: tables that are empty
 * would be taken for proven; or when another source was read into the schema: each would delete what the other has written.
 * `moved`: it is the same installation, at a new address.
 */
export async function recogniseSource(db: Db, given: Placed & { url: string; moved: boolean }): Promise<void> {
  const { source, schema, moved } = given;
  const { host, pathname } = new URL(given.url);
  const address = `${host}${pathname}`.replace(/\/+$/, '');
  const known = await lookUp(db, given);
  if (known.wasRead && known.address !== address && !moved) throw otherAddress(source, known.address, address);
  refuseSchema(known, given);
  // A service asks before each of its turns.
  if (known.address === address && known.schema === schema) return;
  await sql`
    insert into sluice.sources as s (source, address, schema, since) values (${source}, ${address}, ${schema}, sluice.now())
    on conflict (source) do update set address = excluded.address, schema = excluded.schema,
      since = case when s.address = excluded.address then s.since else excluded.since end`.execute(db);
}

/** Kind `configuration` when the rows in the schema are not those of the source, and so are not to be forgotten by its name. */
export async function refuseOthersRows(db: Db, given: Placed): Promise<void> {
  const known = await lookUp(db, given);
  // Where others were read into it, too, forgetting is what puts it right.
  if (!known.wasRead || known.schema !== given.schema) refuseSchema(known, given);
}

/** How a suggested command names the source; `main`, as a rule the only one, needs no name. */
export const sourceOption = (source: string): string => (source === 'main' ? '' : ` --source ${source}`);

/** Forgets where a source was read from once nothing that was read is left. */
export async function forgetSource(db: Db, source: string): Promise<void> {
  await sql`delete from sluice.sources s where source = ${source}
    and not exists (select from sluice.coverage c where c.source = s.source)`.execute(db);
}

async function lookUp(db: Db, { source, schema }: Placed): Promise<Known> {
  const { rows } = await sql<Known>`
    select s.address, s.schema, ${wasRead} as "wasRead",
      (select min(s.source) from sluice.sources s where s.schema = ${schema} and s.source <> ${source} and ${wasRead}) as other
    from (values (${source})) as given(name) left join sluice.sources s on s.source = given.name`.execute(db);
  return rows[0] as Known;
}

function otherAddress(source: string, known: string | null, address: string): SluiceError {
  const option = sourceOption(source);
  return new SluiceError(
    'configuration',
    `Source "${source}" was read from ${known} so far, and its address is now ${address}.`,
    {
      next: `The same installation at a new address: sluice sync${option} --moved. Another one is another source: give it a name and a schema of its own in sources.json (without that file: another WAREHOUSE_SCHEMA), or forget what is here, resource by resource: sluice reset <resource>${option}`,
    },
  );
}

function refuseSchema(known: Known, { source, schema }: Placed): void {
  const { other } = known;
  if (known.wasRead && known.schema !== null && known.schema !== schema)
    throw new SluiceError(
      'configuration',
      `The rows of source "${source}" are in the schema "${known.schema}" so far, and its schema is now "${schema}".`,
      {
        next: `Set it back to "${known.schema}", or make it another source by a name of its own. To read it anew: while it is set to "${known.schema}", forget each resource by sluice reset <resource>${sourceOption(source)}.`,
      },
    );
  if (other !== null)
    throw new SluiceError(
      'configuration',
      `The schema "${schema}" holds the rows of source "${other}", and source "${source}" is set to it, too.`,
      {
        next: `Give "${source}" a schema of its own in sources.json (without that file: another WAREHOUSE_SCHEMA). If it is "${other}" by a new name, put that name back; or, while it has that name, forget each resource by sluice reset <resource>${sourceOption(other)}, and have it read anew by the new one.`,
      },
    );
}
