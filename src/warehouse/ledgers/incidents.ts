import { sql } from 'kysely';
import type { Database, Db } from '../database/database.ts';
import { notOffered } from './coverage.ts';

/**
 * - `unauthorized`, `unavailable`: the source refuses the key, or does not answer; of the source as a whole, or of the one
 *   resource that it befalls while others are read.
 * - `fuse`, `failed`: a run of the resource ended so; `failed` of the source as a whole when it is not the one it was.
 * - `outdated`: the last sync that ended well is too long ago.
 */
export type IncidentKind = 'failed' | 'fuse' | 'unauthorized' | 'unavailable' | 'outdated';

/** Something that is wrong now. */
export interface Trouble {
  readonly kind: IncidentKind;
  /** Null: the source as a whole. */
  readonly resource: string | null;
  readonly message: string;
  readonly next: string | null;
  /** Another trouble tells it already: where it is open it stays so, and it is not opened. */
  readonly explained?: boolean;
}

/** A trouble from its beginning to its end, once over all processes. */
export interface Incident extends Omit<Trouble, 'explained'> {
  readonly id: string;
  readonly source: string;
  /** As Postgres writes them. */
  readonly openedAt: string;
  readonly endedAt: string | null;
}

const columns = sql`id, source, resource, kind, message, next, opened_at as "openedAt", ended_at as "endedAt"`;

/** How long ended incidents are kept, in days. */
const KEPT_DAYS = 90;

/** A run that decides whether there is trouble: the last of its work that ended well or failed. */
export interface LastRun {
  readonly resource: string;
  readonly kind: string;
  readonly state: 'done' | 'failed';
  readonly failure: string | null;
  readonly reason: string | null;
  readonly next: string | null;
  /** A sync of the source ended well while this run was under way; after it. */
  readonly othersMeanwhile: boolean;
  readonly othersSince: boolean;
}

/**
 * For each resource how its last sync, its last backfill and its last verification ended. A backfill or verification that failed
 * and was not repeated is let be after a day. Readings for hints decide nothing: they are narrower than what failed; nor does a
 * run that asked for nothing, which proves nothing.
 */
export async function lastEndedRuns(db: Db, source: string, resources: readonly string[]): Promise<LastRun[]> {
  const endedWell = sql`from sluice.runs where source = ${source} and resource = any(cast(${resources} as text[]))
        and kind in ('slot', 'sync') and state = 'done' and requests > 0`;
  const { rows } = await sql<LastRun>`
    select resource, r.kind, state, failure, reason, next,
      state = 'failed' and exists (select ${endedWell} and ended_at > r.started_at and started_at < r.ended_at) as "othersMeanwhile",
      state = 'failed' and exists (select ${endedWell} and ended_at > r.ended_at) as "othersSince"
    from unnest(cast(${resources} as text[])) as of_resource(name)
    cross join (values (array['slot', 'sync'], null), (array['backfill'], interval '1 day'), (array['verify'], interval '1 day')) as work(kinds, within)
    cross join lateral (select * from sluice.runs where source = ${source} and resource = of_resource.name
      and kind = any(work.kinds) and (state = 'failed' or state = 'done' and requests > 0) and (within is null or ended_at > sluice.now() - within)
      order by ended_at desc, id desc limit 1) r
    order by 1, 2`.execute(db);
  return rows;
}

export interface Freshness {
  readonly resource: string;
  /** Since the last sync that ended well began, which is as of when the resource is fresh; null before the first. */
  readonly ageSeconds: number | null;
  /** Since the first tick of its schedule that no such sync has followed; null when there is none, or no such list. */
  readonly overdueSeconds: number | null;
  /** An incident tells that it is outdated, and no sync has ended well since it was opened. */
  readonly isOutdated: boolean;
}

/** How fresh each resource is. A run that asked for nothing, such as one that the request limit held up all its time, refreshed nothing. */
export async function freshness(db: Db, source: string, resources: readonly string[]): Promise<Freshness[]> {
  const { rows } = await sql<Freshness>`
    select name as resource, extract(epoch from sluice.now() - good.started_at)::float8 as "ageSeconds",
      exists (select from sluice.incidents where source = ${source} and resource = name and kind = 'outdated' and ended_at is null
        and opened_at > coalesce(good.ended_at, '-infinity')) as "isOutdated",
      extract(epoch from sluice.now() - (select min(slot_at) from sluice.slots where source = ${source} and resource = name
        and slot_at > coalesce(good.started_at, '-infinity')
        and not (select ${notOffered} from sluice.coverage where source = ${source} and resource = name)))::float8 as "overdueSeconds"
    from unnest(cast(${resources} as text[])) with ordinality as of_resource(name, place)
    left join lateral (select started_at, ended_at from sluice.runs where source = ${source} and resource = name
      and kind in ('slot', 'sync') and state = 'done' and requests > 0 order by ended_at desc limit 1) good on true
    order by place`.execute(db);
  return rows;
}

/**
 * Runs `fn` in a transaction of its own while no other process does so for the source. Who looks what is wrong and notes it has to
 * do both in here: what was seen before another process noted something newer would end that, and the next look open it again.
 */
export function inTurn<T>(database: Database, source: string, fn: (tx: Db) => Promise<T>): Promise<T> {
  return database.transaction(async tx => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`sluice incidents ${source}`}, 0))`.execute(tx);
    return await fn(tx);
  });
}

/** Opens what is new, and ends what is over. What is open already stays as it is, however often and by whomever it is seen. */
export async function noteTroubles(db: Db, source: string, troubles: readonly Trouble[]): Promise<void> {
  const data = JSON.stringify(troubles);
  await sql`
    with seen as (select * from jsonb_to_recordset(cast(${data} as jsonb)) as d(kind text, resource text, message text, next text, explained boolean)),
    over as (
      update sluice.incidents i set ended_at = sluice.now(), attempts = 0, retry_at = null
      where source = ${source} and ended_at is null and not exists (
        select from seen where seen.kind = i.kind and seen.resource is not distinct from i.resource))
    insert into sluice.incidents (source, resource, kind, message, next, opened_at)
    select ${source}, resource, kind, message, next, sluice.now() from seen
    where explained is not true and not exists (select from sluice.incidents i where source = ${source} and ended_at is null
      and seen.kind = i.kind and seen.resource is not distinct from i.resource)
    on conflict do nothing`.execute(db);
  await sql`delete from sluice.incidents where source = ${source}
    and ended_at < sluice.now() - make_interval(days => ${KEPT_DAYS})`.execute(db);
}

/**
 * One incident whose beginning or end has to be told, for this process alone during `leaseSeconds`; null when there is none. Of one
 * that is over before its beginning was told, only the end is. Failed attempts make the lease longer, up to an hour.
 */
export async function claimUntold(db: Db, source: string, leaseSeconds: number): Promise<Incident | null> {
  const { rows } = await sql<Incident>`
    update sluice.incidents set attempts = attempts + 1,
      retry_at = sluice.now() + make_interval(secs => least(${leaseSeconds} * power(2, least(attempts, 20)), 3600))
    where id = (select id from sluice.incidents where source = ${source}
      and case when ended_at is null then told_at is null
        else told_end_at is null and ended_at > sluice.now() - interval '1 day' end
      and (retry_at is null or retry_at <= sluice.now())
      order by id limit 1 for update skip locked)
    returning ${columns}`.execute(db);
  return rows[0] ?? null;
}

/**
 * The beginning, or for one that has ended, the end was told. One that ended while its beginning was being told may be claimed for
 * its end meanwhile: that claim stays, or the end would be told twice.
 */
export async function noteTold(db: Db, incident: Incident): Promise<void> {
  const column = sql.raw(incident.endedAt === null ? 'told_at' : 'told_end_at');
  const same = sql`ended_at is not distinct from cast(${incident.endedAt} as timestamptz)`;
  await sql`update sluice.incidents set ${column} = sluice.now(), attempts = case when ${same} then 0 else attempts end,
      retry_at = case when ${same} then null else retry_at end
    where id = cast(${incident.id} as bigint)`.execute(db);
}

export async function openIncidents(db: Db, source: string): Promise<Incident[]> {
  const { rows } = await sql<Incident>`select ${columns} from sluice.incidents
    where source = ${source} and ended_at is null order by id`.execute(db);
  return rows;
}
