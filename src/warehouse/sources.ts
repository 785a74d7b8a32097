import { sql } from 'kysely';
import { SluiceError } from '../errors.ts';
import type { Db } from './database.ts';

/**
 * Remembers where a source is read from, as soon as something was. Kind `configuration` when that was another installation so far: its rows would be taken
 * for deleted, and the others for theirs. `moved`: it is the same one, at a new address.
 */
export async function recogniseSource(db: Db, given: { source: string; url: string; moved: boolean }): Promise<void> {
  const { source, moved } = given;
  const { host, pathname } = new URL(given.url);
  const address = `${host}${pathname}`.replace(/\/+$/, '');
  const { rows } = await sql<{ address: string }>`
    insert into sluice.sources as s (source, address, since) values (${source}, ${address}, sluice.now())
    on conflict (source) do update set (address, since) = (
      select excluded.address, excluded.since where s.address <> excluded.address
        and (${moved} or not exists (select from sluice.coverage c where c.source = s.source and read_at is not null))
      union all select s.address, s.since limit 1)
    returning address`.execute(db);
  const known = rows[0]?.address;
  if (known === address) return;
  const option = source === 'main' ? '' : ` --source ${source}`;
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
