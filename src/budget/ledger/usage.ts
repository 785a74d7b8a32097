import type { Database } from '../../warehouse/database/database.ts';
import type { Lane } from '../budget.ts';
import { freeOf } from '../policy.ts';
import { type LedgerKey, readState, readUntilFreeMs } from './state.ts';

/** What a key has used and may still use; moments are texts as Postgres writes them. */
export interface Usage {
  /** Requests per window: the configured limit, or what the server or another process lowers it to. */
  readonly limit: number;
  /** Requests that count now, including those in flight. */
  readonly used: number;
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
  const { key, source, windowMs } = ledger;
  const state = await readState(database, ledger);
  const missing = 1 - freeOf(state);
  const fullMs = missing > 0 ? await readUntilFreeMs(database, key, state, missing) : 0;
  const waitMs = Math.max(state.blockedMs, fullMs);
  const { rows } = await database.query<UsageRow>(USAGE, [key, windowMs, waitMs, source]);
  const byLane = { live: 0, backfill: 0, verify: 0 };
  const byPurpose: Record<string, number> = {};
  for (const { lane, purpose, requests } of rows) {
    if (lane !== null) byLane[lane] += requests;
    if (purpose !== null) byPurpose[purpose] = (byPurpose[purpose] ?? 0) + requests;
  }
  return {
    limit: state.capacity,
    used: state.used,
    withheld: state.withheld,
    isNew: rows[0]?.is_new ?? true,
    free: Math.max(0, freeOf(state)),
    blockedUntil: rows[0]?.blocked_until ?? null,
    nextFreeAt: waitMs > 0 ? (rows[0]?.next_free_at ?? null) : null,
    byLane,
    byPurpose,
  };
}

interface UsageRow {
  readonly [column: string]: unknown;
  readonly blocked_until: string | null;
  readonly next_free_at: string;
  readonly is_new: boolean;
  readonly lane: Lane | null;
  readonly purpose: string | null;
  readonly requests: number;
}

const USAGE = `
  with clock as materialized (select sluice.now() as now),
  spent as (
    select lane, coalesce(purpose, 'under way') as purpose, count(*)::int as requests
    from sluice.requests, clock
    where key = $1 and granted_at > now - $2::float8 * interval '1 millisecond'
    group by 1, 2)
  select (select blocked_until from sluice.budgets where key = $1 and blocked_until > now) as blocked_until,
    now + $3::float8 * interval '1 millisecond' as next_free_at,
    not exists (select from sluice.requests where key = $1 and granted_at <= now - $2::float8 * interval '1 millisecond')
      and not exists (select from sluice.requests_by_minute where source = $4) as is_new,
    lane, purpose, coalesce(requests, 0) as requests
  from clock left join spent on true`;
