import type { Database } from '../../warehouse/database/database.ts';
import type { Lane } from '../budget.ts';
import { type Forecast, STEPS, wholeLimit } from '../forecast.ts';
import { CLOCK_CTE, type LedgerKey, STATE_CTES, stateParameters, untilFreeMs } from './state.ts';

/** What a key has used and may still use; moments are texts as Postgres writes them. */
export interface Usage {
  /** Requests per window: the configured limit, or what the server or another process lowers it to, less the reserve. */
  readonly limit: number;
  /** Requests that count now, including those in flight. */
  readonly used: number;
  /** Requests per window that are left to other programs. */
  readonly reserve: number;
  /** Requests that the server counts beyond ours, e.g. those of another program on the same key. */
  readonly withheld: number;
  /** The ledger counts for less than a window: what was sent before, such as by `sluice doctor` without tables, is withheld. */
  readonly isNew: boolean;
  readonly free: number;
  readonly blockedUntil: string | null;
  /** When the live lane gets its next request; null when it can have one now. */
  readonly nextFreeAt: string | null;
  /** Requests granted during the last window. */
  readonly byLane: Readonly<Record<Lane, number>>;
  readonly byPurpose: Readonly<Record<string, number>>;
}

export async function readUsage(database: Database, ledger: LedgerKey): Promise<Usage> {
  const { rows } = await database.query<UsageRow>(USAGE, [...stateParameters(ledger), ledger.source]);
  const [row] = rows as [UsageRow];
  return { ...row, byLane: { live: 0, backfill: 0, verify: 0, ...row.byLane }, byPurpose: row.byPurpose ?? {} };
}

type UsageRow = Record<string, unknown> &
  Omit<Usage, 'byLane' | 'byPurpose'> & {
    readonly byLane: Partial<Usage['byLane']> | null;
    readonly byPurpose: Usage['byPurpose'] | null;
  };

const USAGE = `
  with ${CLOCK_CTE}, ${STATE_CTES},
  recent as materialized (
    select lane, coalesce(purpose, 'under way') as purpose
    from sluice.requests, clock
    where key = $1 and granted_at > now - $3::float8 * interval '1 millisecond'),
  waits as (
    select greatest(coalesce(blocked_ms, 0), case when free <= 0
      then ${untilFreeMs('(1 - free)', '$3::float8', 'lowered_ms')} else 0 end) as wait_ms
    from state)
  select coalesce(capacity, $2::int - $5::int) as "limit", coalesce(used, 0) as used, coalesce(withheld, 0) as withheld,
    coalesce(left_to_others, $5::int) as reserve,
    not exists (select from sluice.requests where key = $1 and granted_at <= clock.now - $3::float8 * interval '1 millisecond')
      and not exists (select from sluice.requests_by_minute where source = $6) as "isNew",
    greatest(0, coalesce(free, $2::int - $5::int)) as free,
    (select blocked_until from budget where blocked_until > now) as "blockedUntil",
    (select clock.now + wait_ms * interval '1 millisecond' from waits where wait_ms > 0) as "nextFreeAt",
    (select json_object_agg(lane, n) from (select lane, count(*) as n from recent group by lane) each) as "byLane",
    (select json_object_agg(purpose, n) from (select purpose, count(*) as n from recent group by purpose) each) as "byPurpose"
  from clock left join state on true`;

/** What a key has left, and when more stops counting. A server that refuses all requests is left to `take`. */
export async function readForecast(database: Database, ledger: LedgerKey): Promise<Forecast> {
  const { limit, reserve, windowMs } = ledger;
  const { rows } = await database.query<ForecastRow>(FORECAST, [...stateParameters(ledger), STEPS]);
  return rows[0] ? { windowMs, ...rows[0] } : wholeLimit(limit - reserve, windowMs);
}

type ForecastRow = Record<string, unknown> & Omit<Forecast, 'windowMs'>;

// A request in flight may be answered now, and would then count for one more window.
const FORECAST = `
  with ${CLOCK_CTE}, ${STATE_CTES},
  ending as (
    select least(ceil(extract(epoch from counts_until - now) * 1000 * $6::int / $3::float8), $6::int)::int as step,
      count(*)::int as requests
    from clock, sluice.requests where key = $1 and counts_until > now
    group by 1)
  select greatest(0, free) as free,
    array(select coalesce(requests, 0) from generate_series(1, $6::int) step left join ending using (step) order by step) as ending
  from state`;
