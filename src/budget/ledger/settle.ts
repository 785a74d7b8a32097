import type { Database } from '../../warehouse/database/database.ts';
import type { Grant, Settlement } from '../budget.ts';
import { countOf } from '../policy.ts';
import type { LedgerKey } from './state.ts';

interface Settled {
  readonly grant: Grant;
  readonly settlement: Settlement;
}

/** Records answers, those that arrive while others are recorded in one statement. */
export function createSettling(database: Database, { key, limit, windowMs }: LedgerKey) {
  return createBatch<Settled>(async all => {
    const columns = [
      all.map(({ grant }) => grant.id),
      all.map(({ settlement }) => settlement.purpose),
      all.map(({ settlement }) => settlement.runId ?? null),
      all.map(({ settlement }) => settlement.status),
    ];
    await database.query(SETTLE, [key, windowMs, ...columns, limit, ...reportOf(all)]);
  });
}

/** Does one batch at a time, each of all the items that arrived during the previous one. An item is settled with its batch. */
export function createBatch<T>(doAll: (items: readonly T[]) => Promise<void>): (item: T) => Promise<void> {
  let arrived: T[] = [];
  let next: Promise<void> | null = null;
  let current: Promise<void> = Promise.resolve();

  async function afterCurrent(): Promise<void> {
    await current.catch(() => undefined);
    const items = arrived;
    arrived = [];
    next = null;
    current = doAll(items);
    await current;
  }

  return item => {
    arrived.push(item);
    next ??= afterCurrent();
    return next;
  };
}

/** What the newest of the answers that report anything about the limit says; the longest block holds. */
function reportOf(all: readonly Settled[]): unknown[] {
  const settlements = all.map(({ settlement }) => settlement);
  const newest = settlements.findLast(({ remaining, limit, resetMs, serverWindowMs }) =>
    [remaining, limit, resetMs, serverWindowMs].some(reported => reported !== undefined),
  );
  const blocks = settlements.filter(({ blockedForMs }) => blockedForMs !== undefined);
  return [
    countOf(newest?.remaining) ?? null,
    countOf(newest?.limit) ?? null,
    blocks.length > 0 ? Math.max(...blocks.map(({ blockedForMs = 0 }) => blockedForMs)) : null,
    blocks.every(({ crowded }) => crowded),
    newest?.serverWindowMs ?? null,
    newest?.resetMs ?? null,
    settlements.some(({ status, crowded }) => status === 429 && !crowded),
  ];
}

// The rules of `observe` and `serverWindowAfter` in `policy.ts`. It writes only changes: most answers agree with our own count. A key that is
// refused again and again stays blocked for as long as that has gone on: processes that come and go would each begin with the shortest wait, which made
// 360 refusals an hour. `since` is when the first of them was answered, so that a single one that took long is none of these; it is null
// once a request granted later was answered, and least() would ignore that. What is settled here is not in the table yet.
const SETTLE = `
  with clock as materialized (select sluice.now() as now, $2::float8 * interval '1 millisecond' as window),
  answers as materialized (
    select * from unnest($3::bigint[], $4::text[], $5::bigint[], $6::int[]) as a(id, purpose, run_id, status)),
  settled as (
    update sluice.requests r
    set settled_at = now, counts_until = now + clock.window, purpose = a.purpose, run_id = a.run_id, status = a.status
    from answers a, clock
    where r.id = a.id and r.key = $1 and r.settled_at is null
    returning r.id, r.status),
  answered as (
    select greatest(
      (select max(id) from sluice.requests where key = $1 and status <> 429),
      (select max(id) from settled where status <> 429)) as id),
  refused as (
    select min(settled_at) as since from sluice.requests, clock
    where key = $1 and status = 429 and granted_at > clock.now - clock.window and id > coalesce((select id from answered), 0)),
  known as (
    select case
      when $14::boolean or $13::float8 > coalesce($12::float8, server_window_ms)
        or ($9::int is not null and $9::int is distinct from server_limit) then null
      else coalesce($12::float8, server_window_ms) end as over_ms
    from sluice.budgets where key = $1),
  counting as (
    select over_ms, coalesce(over_ms * interval '1 millisecond', clock.window) as over from known, clock),
  seen as (
    select now, now + clock.window as until, now + over as withheld_until, over_ms,
      greatest(0, least($7::int, $9::int) - $8::int
        - (select count(*)::int from sluice.requests
           where key = $1 and counts_until > clock.now + clock.window - over)) as withheld,
      case when $9::int between 1 and $7::int - 1 then $9::int end as server_limit,
      case when $10::float8 is not null then now + greatest($10::float8 * interval '1 millisecond',
        case when $11::boolean then interval '0'
          else least(coalesce(now - (select since from refused), interval '0'), clock.window, interval '10 minutes') end) end as blocked_until
    from clock, counting)
  update sluice.budgets b
  set withheld = case when $8::int is null then b.withheld else seen.withheld end,
      withheld_until = case when $8::int is null then b.withheld_until else seen.withheld_until end,
      server_limit = case when $9::int is null then b.server_limit else seen.server_limit end,
      server_limit_until = case when $9::int is null then b.server_limit_until else seen.until end,
      server_window_ms = seen.over_ms,
      blocked_until = greatest(b.blocked_until, seen.blocked_until)
  from seen
  where b.key = $1 and (
    ($8::int is not null and (b.withheld > 0 or seen.withheld > 0))
    or ($9::int is not null and (b.server_limit is not null or seen.server_limit is not null))
    or seen.over_ms is distinct from b.server_window_ms
    or seen.blocked_until is not null)`;
