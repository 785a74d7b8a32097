import type { Queryable } from '../warehouse/database/database.ts';
import { type Facts, untilFreeMs } from './policy.ts';

/** The key and how its ledger was configured. */
export interface LedgerKey {
  /** The hash of the API key, as `budgetKey` makes it. */
  readonly key: string;
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
  /** Our limit is not remembered yet, or only for a short time. */
  readonly limitIsNew: boolean;
  /** An end lies further ahead than any can: the clock was set back. */
  readonly clockWasAhead: boolean;
}

/** Reads the facts; with `take` under the key's lock. */
export async function readState(db: Queryable, ledger: LedgerKey): Promise<LedgerState> {
  const { key, limit, windowMs, timeoutMs } = ledger;
  const { rows } = await db.query<StateRow>(STATE, [key, limit, windowMs, timeoutMs], 'ledger state');
  const row = rows[0];
  return {
    windowMs,
    capacity: row?.capacity ?? limit,
    withheld: row?.withheld ?? 0,
    used: row?.used ?? 0,
    blockedMs: row?.blocked_ms ?? 0,
    sincePacedMs: row?.since_paced_ms ?? Number.POSITIVE_INFINITY,
    loweredMs: row?.lowered_ms ?? undefined,
    now: row?.now ?? null,
    limitIsNew: row?.limit_is_new ?? true,
    clockWasAhead: row?.clock_was_ahead ?? false,
  };
}

/** Time until `missing` more requests can be free. */
export async function readUntilFreeMs(
  db: Queryable,
  key: string,
  state: LedgerState,
  missing: number,
): Promise<number> {
  const { rows } = await db.query<{ wait_ms: number }>(NEXT_FREE, [key, state.now, state.windowMs, missing - 1]);
  return untilFreeMs(state, rows[0]?.wait_ms);
}

/** Corrects ends that lie too far ahead, and keeps our limit in force for processes that were given a higher one. */
export async function updateKey(db: Queryable, ledger: LedgerKey, state: LedgerState): Promise<void> {
  const { key, limit, windowMs, timeoutMs } = ledger;
  if (state.clockWasAhead) await db.query(CLAMP_TO_CLOCK, [key, state.now, windowMs, timeoutMs]);
  if (state.limitIsNew) await db.query(REMEMBER_LIMIT, [key, state.now, limit, windowMs]);
}

interface StateRow {
  readonly [column: string]: unknown;
  readonly now: string;
  readonly capacity: number;
  readonly withheld: number;
  readonly used: number;
  readonly blocked_ms: number | null;
  readonly since_paced_ms: number | null;
  readonly lowered_ms: number | null;
  readonly limit_is_new: boolean;
  readonly clock_was_ahead: boolean;
}

// `sluice.now()` is volatile: it is read once, and passed to the index as a value. A `paced_at` that lies ahead dates from before the
// clock was set back and is ignored; the next grant sets it again.
const STATE = `
  with clock as materialized (
    select now, now + greatest($3::float8 * interval '1 millisecond', interval '10 minutes') as longest
    from (select sluice.now() as now) n),
  budget as (
    select *,
      case when withheld > 0 and withheld_until > now then withheld_until end as withheld_for,
      case when server_limit < $2::int and server_limit_until > now then server_limit_until end as server_limit_for,
      case when rate_limit < $2::int and rate_limit_until > now then rate_limit_until end as rate_limit_for
    from sluice.budgets, clock
    where key = $1)
  select now,
    least($2::int, case when server_limit_for is not null then server_limit end,
                   case when rate_limit_for is not null then rate_limit end) as capacity,
    case when withheld_for is not null then withheld else 0 end as withheld,
    (select count(*)::int from sluice.requests where requests.key = $1 and counts_until > budget.now) as used,
    (extract(epoch from case when blocked_until > now then least(blocked_until, longest) end - now) * 1000)::float8 as blocked_ms,
    (extract(epoch from now - case when paced_at <= now then paced_at end) * 1000)::float8 as since_paced_ms,
    (extract(epoch from least(withheld_for, server_limit_for, rate_limit_for) - now) * 1000)::float8 as lowered_ms,
    rate_limit_for is null
      and (rate_limit is distinct from $2::int or rate_limit_until is null
           or rate_limit_until < now + $3::float8 * interval '0.9 milliseconds') as limit_is_new,
    coalesce(greatest(blocked_until, withheld_until, server_limit_until, rate_limit_until) > longest, false)
      or exists (select from sluice.requests where requests.key = $1
                 and counts_until > longest + $4::float8 * interval '1 millisecond' + interval '1 minute') as clock_was_ahead
  from budget`;

// Nothing is blocked or lowered for longer than a window, or ten minutes. A later end dates from before the clock was set back, and
// would hold the key up for hours: it is counted from now. The same goes for requests granted or answered ahead of now; those of a
// process with a longer time-out are left alone.
const CLAMP_TO_CLOCK = `
  with until as (
    select $2::timestamptz + greatest($3::float8 * interval '1 millisecond', interval '10 minutes') as longest),
  requests as (
    update sluice.requests
    set counts_until = least(counts_until,
      longest + case when settled_at is null then $4::float8 * interval '1 millisecond' else interval '0' end)
    from until
    where key = $1 and counts_until > longest and greatest(granted_at, settled_at) > $2::timestamptz + interval '1 minute')
  update sluice.budgets
  set blocked_until = case when blocked_until > longest then longest else blocked_until end,
      withheld_until = case when withheld_until > longest then longest else withheld_until end,
      server_limit_until = case when server_limit_until > longest then longest else server_limit_until end,
      rate_limit_until = case when rate_limit_until > longest then longest else rate_limit_until end
  from until
  where key = $1 and greatest(blocked_until, withheld_until, server_limit_until, rate_limit_until) > longest`;

const REMEMBER_LIMIT = `
  update sluice.budgets
  set rate_limit = $3::int, rate_limit_until = $2::timestamptz + $4::float8 * interval '1 millisecond'
  where key = $1`;

// A request in flight may be answered now, and would then count for one more window.
const NEXT_FREE = `
  select (extract(epoch from free_at - $2::timestamptz) * 1000)::float8 as wait_ms
  from (
    select case when settled_at is null
      then least(counts_until, $2::timestamptz + $3::float8 * interval '1 millisecond') else counts_until end as free_at
    from sluice.requests where key = $1 and counts_until > $2::timestamptz) counting
  order by free_at offset $4::int limit 1`;
