import { createHash } from 'node:crypto';
import { type Clock, systemClock } from '../../clock.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Budget, Lane, Taken } from '../budget.ts';
import type { Forecast } from '../forecast.ts';
import { deferred } from '../policy.ts';
import { createSettling, isNews, settleCtes, settleParameters } from './settle.ts';
import { CLOCK_CTE, type LedgerKey, RESERVED_FOR, STATE_CTES, stateParameters, untilFreeMs } from './state.ts';
import { readForecast, readUsage, type Usage } from './usage.ts';

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
 * recorded (a crash): whenever the server counted it, the server's window lies within ours. Where processes on one key have different
 * limits, the lowest used during the last window holds, and the highest reserve of the last ten minutes. Windows are not compared:
 * configure one window per key.
 */
export function createLedger(options: {
  database: Database;
  source: string;
  apiKey: string;
  /** Requests per window, e.g. 1000. */
  limit: number;
  /** How many of them are left to other programs, at this moment. Default: none. */
  reserve?: () => number;
  windowMs: number;
  /** The longest a request may take from its grant to the end of its answer. */
  timeoutMs: number;
  /** An answer that tells nothing new about the limit may wait to be recorded (`RECORDED_WITHIN_MS`). Default: none does. */
  mayWait?: boolean;
  /** For that delay. */
  clock?: Clock;
}): Ledger {
  const { database, source, limit, reserve, windowMs, timeoutMs, clock = systemClock, mayWait = false } = options;
  const ledger: LedgerKey = {
    ...{ key: budgetKey(options.apiKey), source, limit, windowMs, timeoutMs },
    get reserve() {
      return reserve?.() ?? 0;
    },
  };
  const settling = createSettling(database, ledger, clock);
  /** As far as is known, the server counts as we do: so it was when asked last, and no answer has said otherwise since. */
  let isPlain = false;
  return {
    async take(lane, want, kept = 0) {
      const taken = await settling.recordWaiting(answered => {
        const settles = answered.length > 0 ? settleParameters(answered, clock.elapsed()) : [];
        return take(database, ledger, { lane, want, kept }, settles);
      });
      isPlain = taken.isPlain;
      return taken.answer;
    },
    settle(grant, settlement) {
      isPlain &&= !isNews(grant, settlement, limit);
      return settling.settle({ grant, settlement }, mayWait && isPlain);
    },
    flush: () => settling.flush(),
    async release(grants) {
      if (grants.length === 0) return;
      // One that was answered is not given back.
      await settling.flush();
      await database.query(RELEASE, [ledger.key, grants.map(grant => grant.id)]);
    },
    usage: () => readUsage(database, ledger),
    forecast: () => readForecast(database, ledger),
  };
}

async function take(
  database: Database,
  ledger: LedgerKey,
  { lane, want, kept }: { lane: Lane; want: number; kept: number },
  settles: readonly unknown[],
): Promise<{ answer: Taken; isPlain: boolean }> {
  const { key, source, windowMs, timeoutMs } = ledger;
  const parameters = [...stateParameters(ledger), lane, want, source, kept];
  for (let first = settles.length > 0; ; first = false) {
    const { rows } = first
      ? await database.query<TakeRow>(SETTLE_AND_TAKE, [...parameters, ...settles])
      : await database.query<TakeRow>(TAKE, parameters);
    const [row] = rows;
    if (row?.clock_was_ahead) await database.query(CLAMP_TO_CLOCK, [key, row.now, windowMs, timeoutMs]);
    if (!row) await database.query(CREATE_KEY, [key]);
    else if (row.ids) return { answer: granted(row, row.ids), isPlain: row.is_plain };
    // What was settled may have made room, or lowered the limit.
    else if (row.wait_ms !== null && !first)
      return { answer: deferred(row.wait_ms, row.is_paced), isPlain: row.is_plain };
    // Otherwise another process took grants meanwhile.
  }
}

const granted = ({ now, unused }: TakeRow, ids: readonly string[]): Taken => ({
  grants: ids.map(id => ({ id, grantedAt: now, unused })),
  waitMs: 0,
});

interface TakeRow {
  readonly [column: string]: unknown;
  readonly now: string;
  readonly clock_was_ahead: boolean;
  /** Null when something was granted. */
  readonly wait_ms: number | null;
  readonly is_paced: boolean;
  readonly is_plain: boolean;
  readonly unused: number;
  /** Null when nothing was granted. */
  readonly ids: readonly string[] | null;
}

const CREATE_KEY = 'insert into sluice.budgets (key) values ($1) on conflict do nothing';

const keptForLive = (capacity: string) =>
  `case when $6 = 'live' then 0 else least(ceil(${capacity} / 100.0), ${capacity} - 1)::int end`;

// The rule of `decide` in `policy.ts`, for the lane $6 that wants $7 requests of the source $8, with $9 kept. It counts what was
// committed before it began. Every grant moves the version of the key: if another take is committed meanwhile, this one finds the
// version moved and grants nothing. Our limit is kept in force for processes that were given a higher one. With answers to record, it
// decides by what was known before them, and grants nothing where they change what is known of the limit.
const takeAfter = (ctes: string, isUnchanged: string): string => `
  with ${CLOCK_CTE}, ${ctes} ${STATE_CTES},
  room as (
    select *, greatest(${keptForLive('capacity')}, $9::int) as unusable, server_free - ${keptForLive('server_capacity')} as server_room,
      $3::float8 / capacity - coalesce(since_paced_ms, 'infinity') as pause_ms
    from state),
  judged as (
    select *, case
      when blocked_ms > 0 then 'blocked'
      when free <= unusable then 'full'
      when $6 <> 'live' and free <= capacity / 2.0 and pause_ms > 0 then 'paced'
      when server_room <= 0 then 'full at the server' end as obstacle
    from room),
  decided as materialized (
    select *, coalesce(obstacle = 'paced', false) as is_paced,
      case obstacle
        when 'blocked' then blocked_ms
        when 'full' then ${untilFreeMs('(unusable + 1 - free)', '$3::float8', 'lowered_ms')}
        when 'paced' then pause_ms
        when 'full at the server' then ${untilFreeMs('(1 - server_room)', 'over_ms', 'withheld_ms')} end as wait_ms,
      case
        when obstacle is not null then 0
        when $6 = 'live' then least($7::int, free - unusable, server_room)
        when free > capacity / 2.0 then least($7::int, ceil(free - capacity / 2.0), free - unusable, server_room)
        else 1 end::int as allowed
    from judged),
  claimed as (
    update sluice.budgets b
    set version = b.version + 1,
        paced_at = case when allowed > 0 and $6 <> 'live' then now else b.paced_at end,
        rate_limit = case when limit_is_new then $2::int else b.rate_limit end,
        rate_limit_until = case when limit_is_new then now + $3::float8 * interval '1 millisecond' else b.rate_limit_until end,
        reserve = case when reserve_is_new then $5::int else b.reserve end,
        reserve_until = case when reserve_is_new then now + ${RESERVED_FOR} else b.reserve_until end
    from decided d
    where b.key = $1 and b.version = d.version and (allowed > 0 or limit_is_new or reserve_is_new) and ${isUnchanged}
    returning now, allowed),
  granted as (
    insert into sluice.requests (key, source, lane, granted_at, counts_until)
    select $1, $8, $6, now, now + ($4::float8 + $3::float8) * interval '1 millisecond'
    from claimed, generate_series(1, allowed)
    returning id)
  select now, clock_was_ahead, wait_ms, is_paced, is_plain,
    greatest(0, free - allowed)::float8 / greatest(1, capacity) as unused,
    (select array_agg(id order by id)::text[] from granted) as ids
  from decided`;

const TAKE = takeAfter('', 'true');
const SETTLE_AND_TAKE = takeAfter(`${settleCtes(10)},`, 'not exists (select from reported)');

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
      rate_limit_until = case when rate_limit_until > longest then longest else rate_limit_until end,
      reserve_until = case when reserve_until > longest then longest else reserve_until end
  from until
  where key = $1 and greatest(blocked_until, withheld_until, server_limit_until, rate_limit_until, reserve_until) > longest`;

const RELEASE = 'delete from sluice.requests where key = $1 and id = any($2::bigint[]) and settled_at is null';
