import { createHash } from 'node:crypto';
import type { Database } from '../warehouse/database/database.ts';
import type { Budget } from './budget.ts';
import type { Forecast } from './forecast.ts';
import { readForecast } from './ledger-forecast.ts';
import { type LedgerKey, readState, readUntilFreeMs, updateKey } from './ledger-state.ts';
import { readUsage, type Usage } from './ledger-usage.ts';
import { countOf, decide, deferred, unusedAfter } from './policy.ts';

export interface Ledger extends Budget {
  usage(): Promise<Usage>;
  forecast(): Promise<Forecast>;
}

/** The name of an API key in tables, which never hold the key itself. The prefix keeps it from matching a plain hash made elsewhere. */
export function budgetKey(apiKey: string): string {
  return createHash('sha256').update(`sluice api key\n${apiKey}`).digest('hex');
}

/**
 * The budget of one API key in Postgres, shared by every process on this database; only `sluice.now()` tells its time.
 *
 * A request counts from its grant until `windowMs` after its answer, or until grant + `timeoutMs` + `windowMs` when no answer was
 * recorded (a crash): whenever the server counted it, the server's window lies within ours. Takes of one key run one after the other
 * under the lock of its row. Where processes on one key have different limits, the lowest used during the last window holds. Windows are
 * not compared: configure one window per key.
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
  const ledger: LedgerKey = { key, limit, windowMs, timeoutMs };

  return {
    take: (lane, want) =>
      database.transaction(
        async transaction => {
          const state = await readState(transaction, ledger);
          await updateKey(transaction, ledger, state);
          const decision = decide(state, lane, want);
          if (decision.kind === 'wait') return deferred(decision.waitMs, decision.paced);
          if (decision.kind === 'full')
            return deferred(await readUntilFreeMs(transaction, key, state, decision.missing));
          const parameters = [key, source, lane, state.now, timeoutMs + windowMs, decision.count];
          const { rows } = await transaction.query<GrantRow>(GRANT, parameters, 'ledger grant');
          const unused = unusedAfter(state, decision.count);
          return { grants: rows.map(row => ({ id: row.id, grantedAt: row.granted_at, unused })), waitMs: 0 };
        },
        { seqscan: false, opening: lock(key) },
      ),

    async settle(grant, { purpose, runId, status, remaining, limit: serverLimit, blockedForMs, crowded }) {
      await database.query(SETTLE, [grant.id, key, windowMs, purpose, runId ?? null, status]);
      if (remaining === undefined && serverLimit === undefined && blockedForMs === undefined) return;
      const reported = [
        countOf(remaining) ?? null,
        countOf(serverLimit) ?? null,
        blockedForMs ?? null,
        crowded ?? false,
      ];
      await database.query(OBSERVE, [key, limit, windowMs, ...reported]);
    },

    async release(grants) {
      if (grants.length > 0) await database.query(RELEASE, [key, grants.map(grant => grant.id)]);
    },

    usage: () => readUsage(database, ledger),
    forecast: () => readForecast(database, ledger),
  };
}

/**
 * Creates the key's row and locks it, in statements before the count: the count has to see what was committed while this transaction
 * waited. The key is hexadecimal, so it needs no quoting.
 */
const lock = (key: string) => `
  insert into sluice.budgets (key) values ('${key}') on conflict do nothing;
  select from sluice.budgets where key = '${key}' for update`;

interface GrantRow {
  readonly [column: string]: unknown;
  readonly id: string;
  readonly granted_at: string;
}

const GRANT = `
  with paced as (
    update sluice.budgets set paced_at = $4::timestamptz where key = $1 and $3 <> 'live')
  insert into sluice.requests (key, source, lane, granted_at, counts_until)
  select $1, $2, $3, $4::timestamptz, $4::timestamptz + $5::float8 * interval '1 millisecond'
  from generate_series(1, $6::int)
  returning id, granted_at`;

const SETTLE = `
  with clock as materialized (select sluice.now() as now)
  update sluice.requests
  set settled_at = now, counts_until = now + $3::float8 * interval '1 millisecond',
      purpose = $4, run_id = $5::bigint, status = $6::int
  from clock
  where id = $1::bigint and key = $2 and settled_at is null`;

// The rule of `observe` in `policy.ts`. It writes only changes: most answers agree with our own count. A key that is refused again and
// again stays blocked for as long as that has gone on: processes that come and go would each begin with the shortest wait, which made
// 360 refusals an hour. `since` is when the first of them was answered, so that a single one that took long is none of these; it is null
// once a request granted later was answered, and least() would ignore that.
const OBSERVE = `
  with clock as materialized (select sluice.now() as now, $3::float8 * interval '1 millisecond' as window),
  refused as (
    select min(settled_at) as since from sluice.requests, clock
    where key = $1 and status = 429 and granted_at > clock.now - clock.window
      and id > coalesce((select max(id) from sluice.requests where key = $1 and status <> 429), 0)),
  seen as (
    select now, now + clock.window as until,
      greatest(0, least($2::int, $5::int) - $4::int
        - (select count(*)::int from sluice.requests where key = $1 and counts_until > clock.now)) as withheld,
      case when $5::int between 1 and $2::int - 1 then $5::int end as server_limit,
      case when $6::float8 is not null then now + greatest($6::float8 * interval '1 millisecond',
        case when $7::boolean then interval '0'
          else least(coalesce(now - (select since from refused), interval '0'), clock.window, interval '10 minutes') end) end as blocked_until
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
