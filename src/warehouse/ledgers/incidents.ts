import { type Selectable, type SqlBool, sql } from 'kysely';
import { HOUR, SECOND } from '../../clock.ts';
import { NOT_OFFERED } from '../../engine/slices/coverage-entry.ts';
import { anyOf } from '../database/arrays.ts';
import type { SluiceTables } from '../database/bookkeeping-tables.ts';
import type { Database, Db } from '../database/database.ts';
import { lockForTransaction } from '../database/lock-key.ts';
import { daysAgo, fromNow, NOW, notAhead } from '../database/now.ts';
import { covering, notOffered } from './coverage.ts';

/**
 * - `unauthorized`, `unavailable`: the source refuses the key, or does not answer; for the whole source, or for one resource while
 *   others are read.
 * - `fuse`, `failed`: a run of the resource stopped at the loss limit, or failed; `failed` for the whole source when it is
 *   another installation than before.
 * - `rewrite`: more values of a field were replaced than people usually do, and nobody has settled that.
 * - `restored`: the source shows what it showed some time ago, as if it had been restored from a backup.
 * - `restated`: rows of a closed month are not as they were.
 * - `undelivered`: nothing is delivered any more to a receiver of changes, which is named in place of a resource.
 * - `outdated`: the last successful sync is too long ago.
 */
export type IncidentKind = Exclude<Selectable<SluiceTables['sluice.incidents']>['kind'], NoticeKind>;

/** Something that is wrong now. */
export interface Trouble {
  readonly kind: IncidentKind;
  /** Null: the source as a whole. */
  readonly resource: string | null;
  readonly message: string;
  readonly next: string | null;
  /** Another trouble already reports it: an open incident stays open, and no new one is opened. */
  readonly explained?: boolean;
}

/** What else people are alerted to, once and without an end: `drift`, fields of a list that appeared or vanished. */
export type NoticeKind = 'drift';

/** A trouble from its start to its end, recorded once over all processes. */
export interface Incident extends Omit<Trouble, 'explained'> {
  readonly id: string;
  readonly source: string;
  /** As Postgres writes it. */
  readonly openedAt: string;
  readonly endedAt: string | null;
}

/** What an alert is about. A notice is an incident that ends as it begins: nobody finds it open. */
export type Reported = Omit<Incident, 'kind'> & { readonly kind: IncidentKind | NoticeKind };

const columns = [
  'id',
  'source',
  'resource',
  'kind',
  'message',
  'next',
  'opened_at as openedAt',
  'ended_at as endedAt',
] as const;

/** How long ended incidents are kept, in days. */
const KEPT_DAYS = 90;

/** A run that decides whether there is trouble: the last one of its kind of work that succeeded or failed. */
export interface LastRun {
  readonly resource: string;
  readonly kind: string;
  readonly state: 'done' | 'failed';
  readonly failure: string | null;
  readonly reason: string | null;
  readonly next: string | null;
  /** Another sync of the source succeeded while this run was in progress, or after it. */
  readonly othersMeanwhile: boolean;
  readonly othersSince: boolean;
}

/**
 * How the last sync, the last backfill and the last verification of each resource ended. A backfill or verification that failed and
 * was not repeated is ignored after a day. Ignored as well: readings for hints, which are narrower than what failed, and runs without
 * a request, which prove nothing. SQL: a lateral look-up per resource and kind of work.
 */
export async function lastEndedRuns(db: Db, source: string, resources: readonly string[]): Promise<LastRun[]> {
  const endedWell = sql`from sluice.runs where source = ${source} and resource = any(cast(${resources} as text[]))
        and ${notAhead('ended_at')} and kind in ('slot', 'sync') and state = 'done' and requests > 0`;
  const { rows } = await sql<LastRun>`
    select resource, r.kind, state, failure, reason, next,
      state = 'failed' and exists (select ${endedWell} and ended_at > r.started_at and started_at < r.ended_at) as "othersMeanwhile",
      state = 'failed' and exists (select ${endedWell} and ended_at > r.ended_at) as "othersSince"
    from unnest(cast(${resources} as text[])) as of_resource(name)
    cross join (values (array['slot', 'sync'], null), (array['backfill'], interval '1 day'), (array['verify'], interval '1 day')) as work(kinds, within)
    cross join lateral (select * from sluice.runs where source = ${source} and resource = of_resource.name
      and ${notAhead('ended_at')} and kind = any(work.kinds) and (state = 'failed' or state = 'done' and requests > 0) and (within is null or ended_at > sluice.now() - within)
      order by ended_at desc, id desc limit 1) r
    order by 1, 2`.execute(db);
  return rows;
}

export interface ResourceFreshness {
  readonly resource: string;
  /** Since the start of the last successful sync; null before the first, and after a reset. */
  readonly ageSeconds: number | null;
  /** Since the first scheduled slot that no such sync followed; null without one, and when the source has no such list. */
  readonly overdueSeconds: number | null;
  /** An incident `outdated` is open, and no sync has succeeded since it was opened. */
  readonly isOutdated: boolean;
}

/**
 * How fresh each resource is. A run without a request, e.g. one held up by the request limit, refreshes nothing, and a list of which a part
 * was never read is not fresh, however its runs ended. SQL: a lateral look-up.
 */
export async function freshness(db: Db, source: string, resources: readonly string[]): Promise<ResourceFreshness[]> {
  const { rows } = await sql<ResourceFreshness>`
    select name as resource, case when exists (select from sluice.coverage where source = ${source} and resource = name and ${covering})
        then extract(epoch from sluice.now() - good.started_at)::float8 end as "ageSeconds",
      exists (select from sluice.incidents where source = ${source} and resource = name and kind = 'outdated' and ended_at is null
        and opened_at > coalesce(good.ended_at, '-infinity')) as "isOutdated",
      extract(epoch from sluice.now() - (select min(slot_at) from sluice.slots where source = ${source} and resource = name
        and slot_at > coalesce(good.started_at, '-infinity')
        and not (select ${notOffered} from sluice.coverage where source = ${source} and resource = name)))::float8 as "overdueSeconds"
    from unnest(cast(${resources} as text[])) with ordinality as of_resource(name, place)
    left join lateral (select started_at, ended_at from sluice.runs where source = ${source} and resource = name
      and ${notAhead('ended_at')} and kind in ('slot', 'sync') and state = 'done' and requests > 0
      and not exists (select from sluice.coverage where source = ${source} and resource = name and ${covering}
        and proven_at is null and due_reason is distinct from ${NOT_OFFERED})
      order by ended_at desc limit 1) good on true
    order by place`.execute(db);
  return rows;
}

/**
 * Runs `fn` in a transaction of its own while no other process does so for the source. Troubles must be both found and noted in it:
 * noted from an older look, they would end what another process has just opened, and the next look would open it again.
 */
export function inTurn<T>(database: Database, source: string, fn: (tx: Db) => Promise<T>): Promise<T> {
  return database.transaction(async tx => {
    await lockForTransaction(tx, 'incidents', source);
    return await fn(tx);
  });
}

/** Opens new incidents and ends those that are over. An open one stays unchanged. SQL: both in one statement, from one parameter. */
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
  await db
    .deleteFrom('sluice.incidents')
    .where('source', '=', source)
    .where('ended_at', '<', daysAgo(KEPT_DAYS))
    .execute();
}

/** Records a notice of drift. */
export async function noteNotice(
  db: Db,
  source: string,
  notice: Pick<Trouble, 'resource' | 'message' | 'next'>,
): Promise<void> {
  await db
    .insertInto('sluice.incidents')
    .values({ source, kind: 'drift', ...notice, opened_at: NOW, ended_at: NOW })
    .execute();
}

const LONGEST_LEASE_MS = HOUR;

/**
 * Leases to this process, for `leaseSeconds`, one incident whose start or end is still to be reported; null when there is none. If it
 * ended before its start was reported, only the end is. Failed attempts lengthen the lease, up to an hour.
 * A lease that ends later than that predates a backward clock step, and counts for nothing.
 */
export async function claimUntold(db: Db, source: string, leaseSeconds: number): Promise<Reported | null> {
  const isUntold = sql<SqlBool>`case when ended_at is null then told_at is null
    else told_end_at is null and ended_at > sluice.now() - interval '1 day' end`;
  const leased = await db
    .updateTable('sluice.incidents')
    .set(eb => ({
      attempts: eb('attempts', '+', 1),
      retry_at: sql<string>`sluice.now() + make_interval(secs => least(${leaseSeconds} * power(2, least(attempts, 20)), ${LONGEST_LEASE_MS / SECOND}))`,
    }))
    .where('id', '=', eb =>
      eb
        .selectFrom('sluice.incidents')
        .select('id')
        .where('source', '=', source)
        .where(isUntold)
        .where(each =>
          each.or([
            each('retry_at', 'is', null),
            each('retry_at', '<=', NOW),
            each('retry_at', '>', fromNow(LONGEST_LEASE_MS)),
          ]),
        )
        .orderBy('id')
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returning(columns)
    .executeTakeFirst();
  return leased ?? null;
}

/**
 * Records that the start, or for an ended incident the end, was reported. If it ended while its start was being reported, its end may
 * be leased meanwhile: that lease stays, or the end would be reported twice.
 */
export async function noteTold(db: Db, incident: Reported): Promise<void> {
  const { id, endedAt } = incident;
  const isSame = sql<SqlBool>`ended_at is not distinct from cast(${endedAt} as timestamptz)`;
  await db
    .updateTable('sluice.incidents')
    .set(endedAt === null ? { told_at: NOW } : { told_end_at: NOW })
    .set({
      attempts: sql<number>`case when ${isSame} then 0 else attempts end`,
      retry_at: sql<string>`case when ${isSame} then null else retry_at end`,
    })
    .where('id', '=', id)
    .execute();
}

export const openIncidents = (db: Db, source: string): Promise<Incident[]> => allOpenIncidents(db, [source]);

export function allOpenIncidents(db: Db, sources: readonly string[]): Promise<Incident[]> {
  return db
    .selectFrom('sluice.incidents')
    .select(columns)
    .where('source', '=', anyOf(sources))
    .where('ended_at', 'is', null)
    .orderBy('id')
    .$narrowType<{ kind: IncidentKind }>()
    .execute();
}
