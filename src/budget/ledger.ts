import { createHash } from 'node:crypto';
import type { Database, Queryable } from '../warehouse/database/database.ts';

// The shape of `Budget` in src/budget/budget.ts, which this folder may not import; the compiler compares them where they meet.
export type Lane = 'live' | 'backfill' | 'verify';

export interface Grant {
  readonly id: string;
  readonly grantedAt: string;
}

export interface Settlement {
  readonly purpose: string;
  readonly runId?: string;
  readonly status: number | null;
  readonly remaining?: number;
  readonly limit?: number;
  readonly blockedForMs?: number;
}

/** What a key has spent and may still spend, by the ledger's clock; moments as Postgres writes them. */
export interface Usage {
  /** Requests per window at the moment: ours, or what the server or another process lowers it to. */
  readonly limit: number;
  /** Requests that count now, those under way included. */
  readonly used: number;
  /** Requests the server counts beyond ours, e.g. of another program on the same key. */
  readonly withheld: number;
  readonly free: number;
  readonly blockedUntil: string | null;
  /** When the live lane gets its next request; null: at once. */
  readonly nextFreeAt: string | null;
  /** Requests granted during the last window. */
  readonly byLane: Readonly<Record<Lane, number>>;
  readonly byPurpose: Readonly<Record<string, number>>;
}

export interface Ledger {
  take(lane: Lane, want: number): Promise<{ grants: Grant[]; waitMs: number; paced?: true }>;
  settle(grant: Grant, settlement: Settlement): Promise<void>;
  release(grants: readonly Grant[]): Promise<void>;
  usage(): Promise<Usage>;
}

/** How a key is named in tables: never by itself. The prefix keeps it from matching a hash of the key made elsewhere. */
export function budgetKey(apiKey: string): string {
  return createHash('sha256').update(`sluice api key\n${apiKey}`).digest('hex');
}

/**
 * The rolling ledger of one API key, shared by every process on this database; only `sluice.now()` tells its time.
 *
 * A request counts from its grant until `windowMs` after its answer, or until grant + `timeoutMs` + `windowMs` when no answer
 * was recorded (a crash): whenever the server counted it, its window lies within ours. Takes of one key go one after the other
 * under its row's lock. Where processes on one key are given different limits, the lowest used during the last window holds.
 * Windows are not compared: give one key one window.
 */
export function createLedger(options: {
  database: Database;
  source: string;
  apiKey: string;
  /** Requests per window, e.g. 1000. */
  limit: number;
  windowMs: number;
  /** The longest a request may take from its grant to the end of its answer. */
  timeoutMs: number;
}): Ledger {
  const { database, source, limit, windowMs, timeoutMs } = options;
  const key = budgetKey(options.apiKey);

  async function stateOf(db: Queryable): Promise<State> {
    const { rows } = await db.query<State>(STATE, [key, limit, windowMs, timeoutMs], 'ledger state');
    // No row before the first take: nothing was spent.
    return rows[0] ?? { ...UNUSED, capacity: limit };
  }

  /** Milliseconds until `missing` more requests can be free; at the latest when the reasons for a lower limit lapse. */
  async function untilFree(db: Queryable, state: State, missing: number): Promise<number> {
    const { rows } = await db.query<{ wait_ms: number }>(NEXT_FREE, [key, state.now, windowMs, missing - 1]);
    const moments = [rows[0]?.wait_ms, state.lowered_ms].filter(ms => typeof ms === 'number');
    return moments.length > 0 ? Math.min(...moments) : windowMs;
  }

  return {
    take: (lane, want) =>
      database.transaction(
        async transaction => {
          const state = await stateOf(transaction);
          if (state.was_ahead) await transaction.query(PUT_BACK, [key, state.now, windowMs, timeoutMs]);
          if (state.limit_is_news) await transaction.query(REMEMBER_LIMIT, [key, state.now, limit, windowMs]);
          const decision = decide(state, lane, want, windowMs);
          if (!('grant' in decision)) {
            const waitMs =
              'waitMs' in decision ? decision.waitMs : await untilFree(transaction, state, decision.missing);
            const wait = { grants: [], waitMs: Math.max(1, Math.ceil(waitMs)) };
            return 'paced' in decision ? { ...wait, paced: true } : wait;
          }
          const parameters = [key, source, lane, state.now, timeoutMs + windowMs, decision.grant];
          const { rows } = await transaction.query<{ id: string; granted_at: string }>(
            GRANT,
            parameters,
            'ledger grant',
          );
          return { grants: rows.map(row => ({ id: row.id, grantedAt: row.granted_at })), waitMs: 0 };
        },
        { seqscan: false, opening: lock(key) },
      ),

    async settle(grant, { purpose, runId, status, remaining, limit: serverLimit, blockedForMs }) {
      await database.query(SETTLE, [grant.id, key, windowMs, purpose, runId ?? null, status]);
      if (remaining === undefined && serverLimit === undefined && blockedForMs === undefined) return;
      await database.query(OBSERVE, [
        key,
        limit,
        windowMs,
        wholeOrNull(remaining),
        wholeOrNull(serverLimit),
        blockedForMs ?? null,
      ]);
    },

    async release(grants) {
      if (grants.length > 0) await database.query(RELEASE, [key, grants.map(grant => grant.id)]);
    },

    async usage() {
      const { state, free, waitMs, rows } = await database.transaction(
        async transaction => {
          const state = await stateOf(transaction);
          const free = Math.max(0, freeOf(state));
          const capacityMs = free > 0 ? 0 : await untilFree(transaction, state, 1 - freeOf(state));
          const waitMs = Math.max(state.blocked_ms ?? 0, capacityMs);
          return { state, free, waitMs, ...(await transaction.query<UsageRow>(USAGE, [key, windowMs, waitMs])) };
        },
        // A prepared statement keeps the plan it got, and `take` shares this one.
        { seqscan: false },
      );
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
        free,
        blockedUntil: rows[0]?.blocked_until ?? null,
        nextFreeAt: waitMs > 0 ? (rows[0]?.next_free_at ?? null) : null,
        byLane,
        byPurpose,
      };
    },
  };
}

/** A key's row and count at one moment; durations in milliseconds from then. */
export interface State {
  readonly [column: string]: unknown;
  readonly now: string | null;
  readonly capacity: number;
  readonly withheld: number;
  readonly used: number;
  readonly blocked_ms: number | null;
  readonly since_paced_ms: number | null;
  /** When the first reason to allow less than our own limit lapses. */
  readonly lowered_ms: number | null;
  readonly limit_is_news: boolean;
  /** Something is kept for longer than the clock allows, as only one does that has been put back. */
  readonly was_ahead: boolean;
}

const UNUSED: State = {
  now: null,
  capacity: 0,
  withheld: 0,
  used: 0,
  blocked_ms: null,
  since_paced_ms: null,
  lowered_ms: null,
  limit_is_news: true,
  was_ahead: false,
};

type Decision =
  | { readonly grant: number }
  | { readonly waitMs: number; readonly paced?: true }
  | { readonly missing: number };

const freeOf = (state: State) => state.capacity - state.withheld - state.used;

/** How many to grant; else how long to wait, or how many requests have to become free first. */
export function decide(state: State, lane: Lane, want: number, windowMs: number): Decision {
  if ((state.blocked_ms ?? 0) > 0) return { waitMs: state.blocked_ms as number };
  const { capacity } = state;
  const free = freeOf(state);
  // 1% is live's alone, rounded up; but a limit of one request is everybody's.
  const reserved = lane === 'live' ? 0 : Math.min(Math.ceil(capacity / 100), capacity - 1);
  if (free <= reserved) return { missing: reserved + 1 - free };
  if (lane === 'live') return { grant: Math.min(want, free) };
  const burst = Math.ceil(free - capacity / 2);
  if (burst > 0) return { grant: Math.min(want, burst, free - reserved) };
  const pauseMs = windowMs / capacity - (state.since_paced_ms ?? Number.POSITIVE_INFINITY);
  return pauseMs > 0 ? { waitMs: pauseMs, paced: true } : { grant: 1 };
}

/** A count as a header may give it, or null when it is no count. */
function wholeOrNull(value: number | undefined): number | null {
  return value !== undefined && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : null;
}

/**
 * Makes the key's row and locks it, in statements before the count: the count has to see what was committed while this one
 * waited. The key is hexadecimal, so it needs no quoting.
 */
const lock = (key: string) => `
  insert into sluice.budgets (key) values ('${key}') on conflict do nothing;
  select from sluice.budgets where key = '${key}' for update`;

// `sluice.now()` is volatile, hence read once, and handed to the index as a value. A pace that lies ahead was set before the clock
// was put back: nothing would be granted until it is reached again, so it counts for nothing, and the next grant sets it anew.
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
           or rate_limit_until < now + $3::float8 * interval '0.9 milliseconds') as limit_is_news,
    coalesce(greatest(blocked_until, withheld_until, server_limit_until, rate_limit_until) > longest, false)
      or exists (select from sluice.requests where requests.key = $1
                 and counts_until > longest + $4::float8 * interval '1 millisecond' + interval '1 minute') as was_ahead
  from budget`;

// Nothing is ever blocked or lowered for longer than a window, or ten minutes. What is was noted before the clock was put back, and
// would hold everything up for as many hours. It holds from now for as long as it may; a request that was granted or answered ahead of
// now was so before now in truth, so its window ends no later than this says. Others, of a process with a longer time-out, are let be.
const PUT_BACK = `
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

const GRANT = `
  with paced as (
    update sluice.budgets set paced_at = $4::timestamptz where key = $1 and $3 <> 'live')
  insert into sluice.requests (key, source, lane, granted_at, counts_until)
  select $1, $2, $3, $4::timestamptz, $4::timestamptz + $5::float8 * interval '1 millisecond'
  from generate_series(1, $6::int)
  returning id, granted_at`;

// A request still under way may be answered this instant, and would then count for one window from now.
const NEXT_FREE = `
  select (extract(epoch from free_at - $2::timestamptz) * 1000)::float8 as wait_ms
  from (
    select case when settled_at is null
      then least(counts_until, $2::timestamptz + $3::float8 * interval '1 millisecond') else counts_until end as free_at
    from sluice.requests where key = $1 and counts_until > $2::timestamptz) counting
  order by free_at offset $4::int limit 1`;

const SETTLE = `
  with clock as materialized (select sluice.now() as now)
  update sluice.requests
  set settled_at = now, counts_until = now + $3::float8 * interval '1 millisecond',
      purpose = $4, run_id = $5::bigint, status = $6::int
  from clock
  where id = $1::bigint and key = $2 and settled_at is null`;

// Writes only news: most answers agree with our own count. A key that is refused again and again is left alone for as long as that
// has gone on, whoever asks: readers that come and go would each begin anew with the shortest wait, 360 refusals an hour. `refused`
// is null where a request granted later was answered since; least() would ignore it.
const OBSERVE = `
  with clock as materialized (select sluice.now() as now, $3::float8 * interval '1 millisecond' as window),
  refused as (
    select min(granted_at) as since from sluice.requests, clock
    where key = $1 and status = 429 and granted_at > clock.now - clock.window
      and id > coalesce((select max(id) from sluice.requests where key = $1 and status <> 429), 0)),
  seen as (
    select now, now + clock.window as until,
      greatest(0, least($2::int, $5::int) - $4::int
        - (select count(*)::int from sluice.requests where key = $1 and counts_until > clock.now)) as withheld,
      case when $5::int between 1 and $2::int - 1 then $5::int end as server_limit,
      case when $6::float8 is not null then now + greatest($6::float8 * interval '1 millisecond',
        least(coalesce(now - (select since from refused), interval '0'), clock.window, interval '10 minutes')) end as blocked_until
    from clock)
  update sluice.budgets b
  set withheld = case when $4::int is null then b.withheld else seen.withheld end,
      withheld_until = case when $4::int is null then b.withheld_until else seen.until end,
      server_limit = case when $5::int is null then b.server_limit else seen.server_limit end,
      server_limit_until = case when $5::int is null then b.server_limit_until else seen.until end,
      blocked_until = greatest(b.blocked_until, seen.blocked_until)
  from seen
  where b.key = $1 and (
    ($4::int is not null and (b.withheld > 0 or seen.withheld > 0))
    or ($5::int is not null and (b.server_limit is not null or seen.server_limit is not null))
    or seen.blocked_until is not null)`;

const RELEASE = 'delete from sluice.requests where key = $1 and id = any($2::bigint[]) and settled_at is null';

interface UsageRow {
  readonly [column: string]: unknown;
  readonly blocked_until: string | null;
  readonly next_free_at: string;
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
    lane, purpose, coalesce(requests, 0) as requests
  from clock left join spent on true`;
