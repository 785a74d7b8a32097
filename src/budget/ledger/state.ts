/** The key and how its ledger was configured. */
export interface LedgerKey {
  /** The hash of the API key, as `budgetKey` makes it. */
  readonly key: string;
  readonly source: string;
  /** Requests per window, ours and those of other programs, to which `reserve` of them are left. */
  readonly limit: number;
  readonly reserve: number;
  readonly windowMs: number;
  /** The longest a request may take from its grant to the end of its answer. */
  readonly timeoutMs: number;
}

/** The parameters $1 to $5 of `STATE_CTES`. */
export const stateParameters = ({ key, limit, windowMs, timeoutMs, reserve }: LedgerKey): (string | number)[] => [
  key,
  limit,
  windowMs,
  timeoutMs,
  reserve,
];

/** The rule of `leftToOthers` in `policy.ts`, for the limit $2. */
const leftToOthers = (limit: string): string =>
  `least(ceil(${limit} * left_of_limit::float8 / $2::int), ${limit} - 1)::int`;

/**
 * What a process leaves to others holds for the other processes of its key so long after its last request: one that leaves nothing would take it.
 */
export const RESERVED_FOR = `interval '10 minutes'`;

/** The time, read once: `sluice.now()` is volatile, and an index takes a value only. For the window $3 (ms). */
export const CLOCK_CTE = `
  clock as materialized (
    select now, $3::float8 * interval '1 millisecond' as window,
      now + greatest($3::float8 * interval '1 millisecond', interval '10 minutes') as longest
    from (select sluice.now() as now) n)`;

/**
 * CTEs that end in `state`: the `Facts` of the key $1 for a process with the limit $2, of which $5 are left to others, the window $3 and
 * the time-out $4 (ms). No row before the first take of the key. They follow `CLOCK_CTE`.
 *
 * A `paced_at` that lies ahead dates from before the clock was set back and is ignored; the next grant sets it again.
 */
export const STATE_CTES = `
  budget as materialized (
    select *,
      case when withheld > 0 and withheld_until > now then withheld_until end as withheld_for,
      case when server_limit < $2::int and server_limit_until > now then server_limit_until end as server_limit_for,
      case when rate_limit < $2::int and rate_limit_until > now then rate_limit_until end as rate_limit_for,
      greatest($5::int, case when reserve_until > now then reserve end) as left_of_limit
    from sluice.budgets, clock
    where key = $1),
  counted as materialized (
    select *,
      case when server_limit_for is not null then server_window_ms end as over_ms,
      least($2::int, case when server_limit_for is not null
                       then floor(least(server_limit * coalesce($3::float8 / server_window_ms, 1), $2::int))::int end,
                     case when rate_limit_for is not null then rate_limit end) as total,
      case when withheld_for is not null then withheld else 0 end as withheld_now,
      (select count(*)::int from sluice.requests where requests.key = $1 and counts_until > budget.now) as used
    from budget),
  shared as materialized (
    select *, total - ${leftToOthers('total')} as capacity, server_limit - ${leftToOthers('server_limit')} as server_capacity,
      greatest(withheld_now - ${leftToOthers('case when over_ms is null then total else server_limit end')}, 0) as beyond
    from counted),
  state as materialized (
    select now, version, capacity, used, over_ms, server_capacity,
      -- The server counts as we do, as far as is known.
      withheld = 0 and server_limit is null and server_window_ms is null as is_plain,
      case when over_ms is null then withheld_now else 0 end as withheld, total - capacity as left_to_others,
      capacity - used - case when over_ms is null then beyond else 0 end as free,
      case when over_ms is not null then server_capacity - beyond - (
        select count(*)::int from sluice.requests
        where requests.key = $1 and counts_until > shared.now + ($3::float8 - over_ms) * interval '1 millisecond') end as server_free,
      (extract(epoch from withheld_for - now) * 1000)::float8 as withheld_ms,
      (extract(epoch from case when blocked_until > now then least(blocked_until, longest) end - now) * 1000)::float8 as blocked_ms,
      (extract(epoch from now - case when paced_at <= now then paced_at end) * 1000)::float8 as since_paced_ms,
      (extract(epoch from least(withheld_for, server_limit_for, rate_limit_for) - now) * 1000)::float8 as lowered_ms,
      -- Our limit is not remembered yet, or only for a short time.
      rate_limit_for is null
        and (rate_limit is distinct from $2::int or rate_limit_until is null
             or rate_limit_until < now + $3::float8 * interval '0.9 milliseconds') as limit_is_new,
      $5::int > 0 and $5::int = left_of_limit
        and (reserve is distinct from $5::int or reserve_until is null or reserve_until < now + ${RESERVED_FOR} * 0.9) as reserve_is_new,
      coalesce(greatest(blocked_until, withheld_until, server_limit_until, rate_limit_until, reserve_until) > longest, false)
        or exists (select from sluice.requests where requests.key = $1
                    and counts_until > now + ($3::float8 + $4::float8) * interval '1 millisecond' + interval '1 minute') as clock_was_ahead
    from shared)`;

/**
 * Milliseconds until `missing` more requests can be free in a window of `overMs`, or a lower limit lapses after `loweredMs`; all three in
 * SQL over a row with `now`. A request in flight may be answered now, and would then count for one more window.
 */
export const untilFreeMs = (missing: string, overMs: string, loweredMs: string): string => `
  coalesce(least(${loweredMs}, (
    select (extract(epoch from least(counts_until, now + $3::float8 * interval '1 millisecond') - now) * 1000)::float8
      - ($3::float8 - ${overMs})
    from sluice.requests
    where requests.key = $1 and counts_until > now + ($3::float8 - ${overMs}) * interval '1 millisecond'
    order by counts_until offset ${missing} - 1 limit 1)), ${overMs})`;
