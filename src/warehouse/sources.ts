import { sql } from 'kysely';
import { SluiceError } from '../errors.ts';
import type { Db } from './database.ts';

/** Anything of the source has been read: what is known of it must stay true. */
const wasRead = sql`exists (select from sluice.coverage c where c.source = s.source and read_at is not null)`;

/**
 * Remembers where a source is read from and into which schema, as soon as something was. Kind `configuration` when that was another
 * installation so far: its rows would be taken for deleted, and the others for theirs; or another schema: tables that are empty would
 * be taken for proven. `moved`: it is the same installation, at a new address.
 */
export async function recogniseSource(
  db: Db,
  given: { source: string; url: string; schema: string; moved: boolean },
): Promise<void> {
  await recogniseAddress(db, given);
  const { source, schema } = given;
  const { rows } = await sql<{ schema: string }>`
    update sluice.sources s set schema = case when s.schema is not null and ${wasRead} then s.schema else ${schema} end
    where source = ${source} returning s.schema`.execute(db);
  const known = rows[0]?.schema ?? schema;
  if (known === schema) return;
  throw new SluiceError(
    'configuration',
    `The rows of source "${source}" are in the schema "${known}" so far, and its schema is now "${schema}".`,
    {
      next: `Set it back to "${known}", or make it another source by a name of its own. To read it anew: while it is set to "${known}", forget each resource by sluice reset <resource>${sourceOption(source)}.`,
    },
  );
}

/** How a suggested command names the source; `main`, as a rule the only one, needs no name. */
export const sourceOption = (source: string): string => (source === 'main' ? '' : ` --source ${source}`);

async function recogniseAddress(db: Db, given: { source: string; url: string; moved: boolean }): Promise<void> {
  const { source, moved } = given;
  const { host, pathname } = new URL(given.url);
  const address = `${host}${pathname}`.replace(/\/+$/, '');
  const { rows } = await sql<{ address: string }>`
    insert into sluice.sources as s (source, address, since) values (${source}, ${address}, sluice.now())
    on conflict (source) do update set (address, since) = (
      select excluded.address, excluded.since where s.address <> excluded.address
        and (${moved} or not ${wasRead})
      union all select s.address, s.since limit 1)
    returning address`.execute(db);
  const known = rows[0]?.address;
  if (known === address) return;
  const option = sourceOption(source);
  throw new SluiceError(
    'configuration',
    `Source "${source}" was read from ${known} so far, and its address is now ${address}.`,
    {
      next: `The same installation at a new address: sluice sync${option} --moved. Another one is another source: give it a name and a schema of its own in sources.json (without that file: another WAREHOUSE_SCHEMA), or forget what is here, resource by resource: sluice reset <resource>${option}`,
    },
  );
}

/** Forgets where a source was read from once nothing that was read is left. */
export async function forgetSource(db: Db, source: string): Promise<void> {
  await sql`delete from sluice.sources s where source = ${source}
    and not exists (select from sluice.coverage c where c.source = s.source)`.execute(db);
}
