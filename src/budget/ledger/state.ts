import type { Queryable } from '../../warehouse/database/database.ts';
import type { Grant, Lane } from '../budget.ts';
import { type Facts, type Shorter, untilFreeMs, unusedAfter } from '../policy.ts';

/** The key and how its ledger was configured. */
export interface LedgerKey {
  /** The hash of the API key, as `budgetKey` makes it. */
  readonly key: string;
  readonly source: string;
  /** Requests per window. */
  readonly limit: number;
  readonly windowMs: number;
  /** The longest a request may take from its grant to the end of its answer. */
  readonly timeoutMs: number;
}

/** A key's facts at one moment, by the database's clock. */
export interface LedgerState extends Facts {
  /** The moment, as Postgres writes it; null before the first take of the key. */
  readonly now: string | null;
  /** An end lies further ahead than any can: the clock was set back. */
  readonly clockWasAhead: boolean;
}

export async function readState(db: Queryable, { key, limit, windowMs, timeoutMs }: LedgerKey): Promise<LedgerState> {
  const { rows } = await db.query<StateRow>(STATE, [key, limit, windowMs, timeoutMs]);
  return stateOf(rows[0], { limit, windowMs });
}

/** What a claim found, and what it was granted. */
export interface Claimed {
  readonly state: LedgerState;
  /** Requests that the policy allows. */
  readonly allowed: number;
  /** So many, or none if another claim of the key came in between. */
  readonly grants: Grant[];
}

/**
 * Counts, decides as `decide` in `policy.ts` does, and grants, in one statement. It counts what was committed before it began: if another
 * claim of the key is committed meanwhile, the key's version has moved, and nothing is granted. Null before the first claim of the key.
 */
export async function claim(
  db: Queryable,
  ledger: LedgerKey,
  lane: Lane,
  want: number,
  kept: number,
): Promise<Claimed | null> {
  const { key, source, limit, windowMs, timeoutMs } = ledger;
  const parameters = [key, limit, windowMs, timeoutMs, lane, want, source, kept];
  const { rows } = await db.query<ClaimRow>(CLAIM, parameters);
  const [row] = rows;
  if (!row) return null;
  const state = stateOf(row, ledger);
  const { allowed, now: grantedAt } = row;
  const unused = unusedAfter(state, allowed);
  return { state, allowed, grants: (row.ids ?? []).map(id => ({ id, grantedAt, unused })) };
}

export async function createKey(db: Queryable, { key }: LedgerKey): Promise<void> {
  await db.query('insert into sluice.budgets (key) values ($1) on conflict do nothing', [key]);
}

/** Corrects ends that lie too far ahead. */
export async function clampToClock(db: Queryable, ledger: LedgerKey, { now }: LedgerState): Promise<void> {
  const { key, windowMs, timeoutMs } = ledger;
  await db.query(CLAMP_TO_CLOCK, [key, now, windowMs, timeoutMs]);
}

/** Time until `missing` more requests can be free, in the window of the key or in a shorter one. */
export async function readUntilFreeMs(
  db: Queryable,
  key: string,
  state: LedgerState,
  missing: number,
  of: Shorter = state,
): Promise<number> {
  const parameters = [key, state.now, of.windowMs, missing - 1, state.windowMs - of.windowMs];
  const { rows } = await db.query<{ wait_ms: number }>(NEXT_FREE, parameters);
  return untilFreeMs(of, rows[0]?.wait_ms);
}

export interface StateRow {
  readonly [column: string]: unknown;
  readonly now: string;
  readonly capacity: number;
  readonly withheld: number;
  readonly used: number;
  readonly blocked_ms: number | null;
  readonly since_paced_ms: number | null;
  readonly lowered_ms: number | null;
  readonly server_window_ms: number | null;
  readonly server_limit: number;
  readonly server_withheld: number;
  readonly server_used: number;
  readonly withheld_ms: number | null;
  readonly clock_was_ahead: boolean;
}

interface ClaimRow extends StateRow {
  readonly allowed: number;
  readonly ids: readonly string[] | null;
}

export const stateOf = (
  row: StateRow | undefined,
  { limit, windowMs }: Pick<LedgerKey, 'limit' | 'windowMs'>,
): LedgerState => ({
  windowMs,
  capacity: row?.capacity ?? limit,
  withheld: row?.withheld ?? 0,
  used: row?.used ?? 0,
  blockedMs: row?.blocked_ms ?? 0,
  sincePacedMs: row?.since_paced_ms ?? Number.POSITIVE_INFINITY,
  loweredMs: row?.lowered_ms ?? undefined,
  shorter: row && row.server_window_ms !== null ? shorterOf(row, row.server_window_ms) : undefined,
  now: row?.now ?? null,
  clockWasAhead: row?.clock_was_ahead ?? false,
});

const shorterOf = (row: StateRow, windowMs: number): Shorter => ({
  windowMs,
  capacity: row.server_limit,
  withheld: row.server_withheld,
  used: row.server_used,
  loweredMs: row.withheld_ms ?? undefined,
});

/**
 * CTEs that end in `state`, with the facts of the key $1 for a process with the limit $2, the window $3 and the time-out $4 (ms).
 *
 * `sluice.now()` is volatile: it is read once, and passed to the index as a value. A `paced_at` that lies ahead dates from before the
 * clock was set back and is ignored; the next grant sets it again.
 */
export const STATE_CTES = `
  clock as materialized (
    select now, now + greatest($3::float8 * interval '1 millisecond', interval '10 minutes') as longest
    from (select sluice.now() as now) n),
  budget as materialized (
    select *,
      case when withheld > 0 and withheld_until > now then withheld_until end as withheld_for,
      case when server_limit < $2::int and server_limit_until > now then server_limit_until end as server_limit_for,
      case when rate_limit < $2::int and rate_limit_until > now then rate_limit_until end as rate_limit_for
    from sluice.budgets, clock
    where key = $1),
  server as materialized (
    select case when server_limit_for is not null then server_window_ms end as over_ms from budget),
  state as materialized (
    select now, version,
      least($2::int, case when server_limit_for is not null
                       then floor(least(server_limit * coalesce($3::float8 / over_ms, 1), $2::int))::int end,
                     case when rate_limit_for is not null then rate_limit end) as capacity,
      case when withheld_for is not null and over_ms is null then withheld else 0 end as withheld,
      (select count(*)::int from sluice.requests where requests.key = $1 and counts_until > budget.now) as used,
      over_ms as server_window_ms, server_limit,
      case when withheld_for is not null then withheld else 0 end as server_withheld,
      case when over_ms is not null then (
        select count(*)::int from sluice.requests
        where requests.key = $1 and counts_until > budget.now + ($3::float8 - over_ms) * interval '1 millisecond') end as server_used,
      (extract(epoch from withheld_for - now) * 1000)::float8 as withheld_ms,
      (extract(epoch from case when blocked_until > now then least(blocked_until, longest) end - now) * 1000)::float8 as blocked_ms,
      (extract(epoch from now - case when paced_at <= now then paced_at end) * 1000)::float8 as since_paced_ms,
      (extract(epoch from least(withheld_for, server_limit_for, rate_limit_for) - now) * 1000)::float8 as lowered_ms,
      -- Our limit is not remembered yet, or only for a short time.
      rate_limit_for is null
        and (rate_limit is distinct from $2::int or rate_limit_until is null
             or rate_limit_until < now + $3::float8 * interval '0.9 milliseconds') as limit_is_new,
      coalesce(greatest(blocked_until, withheld_until, server_limit_until, rate_limit_until) > longest, false)
        or exists (select from sluice.requests where requests.key = $1
                    and counts_until > now + ($3::float8 + $4::float8) * interval '1 millisecond' + interval '1 minute') as clock_was_ahead
    from budget, server)`;

const STATE = `with ${STATE_CTES} select * from state`;

// `allowed` is the count of a `grant` in `decide`. Our limit is kept in force for processes that were given a higher one, and the key's
// version is moved with every grant: an update that waited for another claim finds it moved, and does nothing.
const CLAIM = `
  with ${STATE_CTES},
  room as (
    select *, capacity - withheld - used as free,
      greatest(case when $5 = 'live' then 0 else least(ceil(capacity / 100.0), capacity - 1) end, $8::int) as reserve,
      case when server_window_ms is not null then server_limit - server_withheld - server_used
        - case when $5 = 'live' then 0 else least(ceil(server_limit / 100.0), server_limit - 1) end end as server_free
    from state),
  decided as materialized (
    select *, case
      when blocked_ms > 0 or free <= reserve or server_free <= 0 then 0
      when $5 = 'live' then least($6::int, free - reserve, server_free)
      when free > capacity / 2.0 then least($6::int, ceil(free - capacity / 2.0), free - reserve, server_free)
      when coalesce(since_paced_ms, 'infinity') >= $3::float8 / capacity then 1
      else 0 end::int as allowed
    from room),
  claimed as (
    update sluice.budgets b
    set version = b.version + 1,
        paced_at = case when allowed > 0 and $5 <> 'live' then now else b.paced_at end,
        rate_limit = case when limit_is_new then $2::int else b.rate_limit end,
        rate_limit_until = case when limit_is_new then now + $3::float8 * interval '1 millisecond' else b.rate_limit_until end
    from decided d
    where b.key = $1 and b.version = d.version and (allowed > 0 or limit_is_new)
    returning now, allowed),
  granted as (
    insert into sluice.requests (key, source, lane, granted_at, counts_until)
    select $1, $7, $5, now, now + ($4::float8 + $3::float8) * interval '1 millisecond'
    from claimed, generate_series(1, allowed)
    returning id)
  select *, (select array_agg(id order by id)::text[] from granted) as ids from decided`;

// Nothing is blocked or lowered for longer than a window, or ten minutes. A later end dates from before the clock was set back, and
// would hold the key up for hours: it is counted from now. The same goes for requests granted or answered ahead of now; those of a
// process with a longer time-out are left alone.
const CLAMP_TO_CLOCK = `
  with until as (
    select $2::timestamptz + greatest($3::float8 * interval '1 millisecond', interval '10 minutes') as longest),
  requests as (
    update sluice.requests
    set counts_until = least(counts_until, $2::timestamptz +
      ($3::float8 + case when settled_at is null then $4::float8 else 0 end) * interval '1 millisecond')
    where key = $1 and greatest(granted_at, settled_at) > $2::timestamptz + interval '1 minute')
  update sluice.budgets
  set blocked_until = case when blocked_until > longest then longest else blocked_until end,
      withheld_until = case when withheld_until > longest then longest else withheld_until end,
      server_limit_until = case when server_limit_until > longest then longest else server_limit_until end,
      rate_limit_until = case when rate_limit_until > longest then longest else rate_limit_until end
  from until
  where key = $1 and greatest(blocked_until, withheld_until, server_limit_until, rate_limit_until) > longest`;

// A request in flight may be answered now, and would then count for one more window. A shorter window ends $5 ms before ours.
const NEXT_FREE = `
  with clock as (select $2::timestamptz + $5::float8 * interval '1 millisecond' as now)
  select (extract(epoch from free_at - now) * 1000)::float8 as wait_ms
  from clock, lateral (
    select case when settled_at is null
      then least(counts_until, now + $3::float8 * interval '1 millisecond') else counts_until end as free_at
    from sluice.requests where key = $1 and counts_until > now) counting
  order by free_at offset $4::int limit 1`;
