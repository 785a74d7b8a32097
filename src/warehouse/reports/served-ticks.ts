import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';

/** A resource, and its newest tick of which everything due was read (epoch ms); null where none was. */
export interface ServedTick {
  readonly resource: string;
  readonly at: number | null;
}

/** SQL: the newest run of each resource, by its index. */
export async function servedTicks(db: Db, source: string, resources: readonly string[]): Promise<ServedTick[]> {
  const { rows } = await sql<ServedTick>`
    select name as resource, (select ${epochMs('r.slot_at')} from sluice.runs r
      where r.source = ${source} and r.resource = name and r.kind = 'slot' and r.state = 'done' and r.slot_at is not null
      order by r.id desc limit 1) as at
    from unnest(cast(${resources} as text[])) with ordinality as of_resource(name, place) order by place`.execute(db);
  return rows;
}
