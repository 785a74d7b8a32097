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

/** A tick of a resource, and when everything due at it had been read; both in epoch milliseconds. */
export interface TickServed {
  readonly resource: string;
  readonly at: number;
  readonly endedAt: number;
}

/** Those that ended within the last `hours`, and the last before them, oldest first. SQL: two scans by an index per resource. */
export async function ticksServedWithin(
  db: Db,
  source: string,
  resources: readonly string[],
  hours: number,
): Promise<TickServed[]> {
  const since = sql`sluice.now() - make_interval(hours => ${hours}::int)`;
  const served = sql`r.source = ${source} and r.resource = name and r.kind = 'slot' and r.state = 'done' and r.slot_at is not null`;
  const columns = sql`r.resource, ${epochMs('r.slot_at')} as at, ${epochMs('r.ended_at')} as "endedAt"`;
  const { rows } = await sql<TickServed>`
    select f.* from unnest(cast(${resources} as text[])) as of_resource(name), lateral (
      (select ${columns} from sluice.runs r where ${served} and r.ended_at < ${since} order by r.ended_at desc limit 1)
      union all select ${columns} from sluice.runs r where ${served} and r.ended_at >= ${since}) f
    order by f."endedAt"`.execute(db);
  return rows;
}
