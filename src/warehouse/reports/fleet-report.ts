import { sql } from 'kysely';
import { anyOf } from '../database/any-of.ts';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import { covering, notOffered } from '../ledgers/coverage.ts';
import { allOpenIncidents, type Incident } from '../ledgers/incidents.ts';
import type { OrderState } from '../ledgers/orders.ts';
import type { RunState } from '../ledgers/runs.ts';

/** A few words about each of many sources. */
export interface SourceGist {
  readonly incidents: readonly Incident[];
  readonly runs: readonly {
    readonly resource: string;
    readonly kind: string;
    readonly state: RunState;
    readonly reason: string | null;
    readonly waitingUntil: string | null;
  }[];
  readonly orders: readonly { readonly state: OrderState }[];
  readonly resources: readonly { readonly resource: string; readonly neverRead: number; readonly absent: boolean }[];
  /** By resource: its newest tick that was served (epoch ms). */
  readonly ticks: ReadonlyMap<string, number>;
  readonly missing: number;
  readonly quarantined: number;
  /** Granted within the last hour. */
  readonly requests: number;
  /** By resource: it moves with every commit. */
  readonly cursors: ReadonlyMap<string, string>;
}

type OfSource<T> = T & { readonly source: string };

/** By source. SQL: nine statements, however many sources there are. */
export async function fleetReport(
  db: Db,
  pairs: readonly { readonly source: string; readonly resource: string }[],
): Promise<Map<string, SourceGist>> {
  const sources = [...new Set(pairs.map(({ source }) => source))];
  const incidents = await allOpenIncidents(db, sources);
  const runs = await db
    .selectFrom('sluice.runs')
    .select(['source', 'resource', 'kind', 'state', 'reason', 'waiting_until as waitingUntil'])
    .where('source', '=', anyOf(sources))
    .where('state', 'in', ['running', 'waiting'])
    .orderBy('id', 'desc')
    .execute();
  const orders = await db
    .selectFrom('sluice.orders')
    .select(['source', 'state'])
    .where('source', '=', anyOf(sources))
    .where('state', 'in', ['waiting', 'running', 'paused'])
    .execute();
  const { rows: lists } = await sql<OfSource<SourceGist['resources'][number]>>`
    select source, resource, count(*) filter (where proven_at is null)::float8 as "neverRead", ${notOffered} as absent
    from sluice.coverage where source = ${anyOf(sources)} and ${covering} group by source, resource`.execute(db);
  const { rows: ticks } = await sql<OfSource<{ resource: string; at: number }>>`
    select source, resource, at from unnest(cast(${pairs.map(each => each.source)} as text[]), cast(${pairs.map(each => each.resource)} as text[])) as p(source, resource),
      lateral (select ${epochMs('r.slot_at')} as at from sluice.runs r where r.source = p.source and r.resource = p.resource
        and r.kind = 'slot' and r.state = 'done' and r.slot_at is not null order by r.id desc limit 1) newest`.execute(
    db,
  );
  const { rows: sent } = await sql<OfSource<{ requests: number }>>`
    select source, count(*)::float8 as requests from sluice.requests
    where granted_at > sluice.now() - interval '1 hour' and source = ${anyOf(sources)} group by source`.execute(db);
  const { rows: missing } = await sql<OfSource<{ rows: number }>>`
    select source, count(*)::float8 as rows from sluice.missing where source = ${anyOf(sources)} group by source`.execute(
    db,
  );
  const { rows: bad } = await sql<OfSource<{ rows: number }>>`
    select source, count(*)::float8 as rows from sluice.quarantine
    where source = ${anyOf(sources)} and resolved_at is null group by source`.execute(db);
  const cursors = await db
    .selectFrom('sluice.cursors')
    .select(['source', 'resource', 'version'])
    .where('source', '=', anyOf(sources))
    .execute();
  const of = <T extends { source: string }>(rows: readonly T[], source: string) =>
    rows.filter(row => row.source === source);
  return new Map(
    sources.map(source => [
      source,
      {
        incidents: of(incidents, source),
        runs: of(runs, source),
        orders: of(orders, source),
        resources: of(lists, source),
        ticks: new Map(of(ticks, source).map(({ resource, at }) => [resource, at])),
        missing: of(missing, source)[0]?.rows ?? 0,
        quarantined: of(bad, source)[0]?.rows ?? 0,
        requests: of(sent, source)[0]?.requests ?? 0,
        cursors: new Map(of(cursors, source).map(({ resource, version }) => [resource, version])),
      },
    ]),
  );
}
