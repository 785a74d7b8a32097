import { type Clock, SECOND } from '../../clock.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Grant, Settlement } from '../budget.ts';
import { countOf } from '../policy.ts';
import { CLOCK_CTE, type LedgerKey, stateParameters } from './state.ts';

/** An answer to record. */
export interface Answered {
  readonly grant: Grant;
  readonly settlement: Settlement;
  /** When it came (`Clock.elapsed`); null: it is recorded at once. */
  readonly at: number | null;
}

/** An answer that tells nothing new about the limit is recorded so much later at most. */
export const RECORDED_WITHIN_MS = 5 * SECOND;

/** Records answers: at once, or with the next statement of the key, so that they cost none of their own. Until then they count as under way. */
export function createSettling(database: Database, ledger: LedgerKey, clock: Clock) {
  const record = createBatch<Answered>(async all => {
    await database.query(SETTLE, [...stateParameters(ledger), ...settleParameters(all, clock.elapsed())]);
  });
  let waiting: Answered[] = [];
  let waking: AbortController | undefined;
  const underWay = new Set<Promise<unknown>>();

  /** Passes on what waits, to be recorded by a statement; it waits for another if that fails. */
  async function recordWaiting<T>(by: (answered: readonly Answered[]) => Promise<T>): Promise<T> {
    waking?.abort();
    waking = undefined;
    const all = waiting;
    waiting = [];
    const recording = by(all);
    underWay.add(recording);
    try {
      return await recording;
    } catch (error) {
      waiting = [...all.filter(({ at }) => at !== null), ...waiting];
      throw error;
    } finally {
      underWay.delete(recording);
    }
  }

  const recordNow = () => recordWaiting(async all => void (await Promise.all(all.map(record))));

  function recordSoon(): void {
    if (waking) return;
    waking = new AbortController();
    // Whoever asks next is told why it failed.
    clock
      .sleep(RECORDED_WITHIN_MS, waking.signal)
      .then(recordNow)
      .catch(() => undefined);
  }

  return {
    recordWaiting,
    async settle(answered: Omit<Answered, 'at'>, mayWait: boolean): Promise<void> {
      waiting.push({ ...answered, at: mayWait ? clock.elapsed() : null });
      if (mayWait) recordSoon();
      else await recordNow();
    },
    async flush(): Promise<void> {
      if (waiting.length > 0) await recordNow();
      await Promise.allSettled(underWay);
    },
  };
}

/** Where the server counts as we do, the answer may say otherwise: less is left than we count, its limit is lower, or it refuses. */
export function isNews({ unused }: Grant, settlement: Settlement, limit: number): boolean {
  const { status, remaining, limit: reported, serverWindowMs, blockedForMs } = settlement;
  return (
    status === 429 ||
    blockedForMs !== undefined ||
    serverWindowMs !== undefined ||
    (reported !== undefined && reported < limit) ||
    (remaining !== undefined && remaining < Math.floor(unused * limit))
  );
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

/** The parameters of `settleCtes`. */
export function settleParameters(all: readonly Answered[], elapsedMs: number): unknown[] {
  const settlements = all.map(({ settlement }) => settlement);
  const newest = all.findLast(({ settlement: { remaining, limit, resetMs, serverWindowMs } }) =>
    [remaining, limit, resetMs, serverWindowMs].some(reported => reported !== undefined),
  );
  const { remaining, limit, serverWindowMs, resetMs } = newest?.settlement ?? {};
  // While it waited, another process may have learnt more: it can only add to that.
  const wasNews = newest === undefined || newest.at === null;
  const blocks = settlements.filter(({ blockedForMs }) => blockedForMs !== undefined);
  const ago = ({ at }: Answered) => (at === null ? 0 : Math.max(elapsedMs - at, 0));
  return [
    all.map(({ grant }) => grant.id),
    settlements.map(({ purpose }) => purpose),
    settlements.map(({ runId }) => runId ?? null),
    settlements.map(({ status }) => status),
    all.map(ago),
    countOf(remaining) ?? null,
    wasNews ? (countOf(limit) ?? null) : null,
    blocks.length > 0 ? Math.max(...blocks.map(({ blockedForMs = 0 }) => blockedForMs)) : null,
    blocks.every(({ crowded }) => crowded),
    serverWindowMs ?? null,
    wasNews ? (resetMs ?? null) : null,
    settlements.some(({ status, crowded }) => status === 429 && !crowded),
    newest ? ago(newest) : 0,
    !wasNews,
  ];
}

// The rules of `observe` and `serverWindowAfter` in `policy.ts`. It writes only changes: most answers agree with our own count. A key that is
// refused again and again stays blocked for as long as that has gone on: processes that come and go would each begin with the shortest wait, which made
// 360 refusals an hour. `since` is when the first of them was answered, so that a single one that took long is none of these; it is null
// once a request granted later was answered, and least() would ignore that. What is settled here is not in the table yet.
/**
 * CTEs that record answers, with `settleParameters` from the place `first` on; `reported` has a row if they changed what is known of the limit. They
 * follow `CLOCK_CTE`, and leave what statements before them read as it was.
 */
export const settleCtes = (first: number): string => {
  const [
    ids,
    purposes,
    runs,
    statuses,
    ago,
    remaining,
    limit,
    blocked,
    crowded,
    over,
    reset,
    refused,
    reportedAgo,
    onlyAdds,
  ] = Array.from({ length: 14 }, (_, index) => `$${first + index}`);
  const held = 'case when b.withheld_until > seen.now then b.withheld else 0 end';
  return `
  answers as materialized (
    select distinct on (id) * from unnest(${ids}::bigint[], ${purposes}::text[], ${runs}::bigint[], ${statuses}::int[], ${ago}::float8[])
      as a(id, purpose, run_id, status, ago) order by id, ago desc),
  settled as (
    update sluice.requests r
    set settled_at = now - ago * interval '1 millisecond', counts_until = now - ago * interval '1 millisecond' + clock.window,
      purpose = a.purpose, run_id = a.run_id, status = a.status
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
      when ${refused}::boolean or ${reset}::float8 > coalesce(${over}::float8, server_window_ms)
        or (${limit}::int is not null and ${limit}::int is distinct from server_limit) then null
      else coalesce(${over}::float8, server_window_ms) end as over_ms
    from sluice.budgets where key = $1),
  counting as (
    select over_ms, coalesce(over_ms * interval '1 millisecond', clock.window) as over from known, clock),
  seen as (
    select now, now + clock.window as until, now + over as withheld_until, over_ms,
      greatest(0, least($2::int, ${limit}::int) - ${remaining}::int
        - (select count(*)::int from sluice.requests
           where key = $1 and counts_until > clock.now - ${reportedAgo}::float8 * interval '1 millisecond' + clock.window - over)) as withheld,
      case when ${limit}::int between 1 and $2::int - 1 then ${limit}::int end as server_limit,
      case when ${blocked}::float8 is not null then now + greatest(${blocked}::float8 * interval '1 millisecond',
        case when ${crowded}::boolean then interval '0'
          else least(coalesce(now - (select since from refused), interval '0'), clock.window, interval '10 minutes') end) end as blocked_until
    from clock, counting),
  reported as (
    update sluice.budgets b
    set withheld = case when ${remaining}::int is null then b.withheld
          when ${onlyAdds}::boolean then greatest(${held}, seen.withheld) else seen.withheld end,
        withheld_until = case when ${remaining}::int is null or ${onlyAdds}::boolean and seen.withheld <= ${held} then b.withheld_until
          else seen.withheld_until end,
        server_limit = case when ${limit}::int is null then b.server_limit else seen.server_limit end,
        server_limit_until = case when ${limit}::int is null then b.server_limit_until else seen.until end,
        server_window_ms = seen.over_ms,
        blocked_until = greatest(b.blocked_until, seen.blocked_until)
    from seen
    where b.key = $1 and (
      (${remaining}::int is not null
        and case when ${onlyAdds}::boolean then seen.withheld > ${held} else b.withheld > 0 or seen.withheld > 0 end)
      or (${limit}::int is not null and (b.server_limit is not null or seen.server_limit is not null))
      or seen.over_ms is distinct from b.server_window_ms
      or seen.blocked_until is not null)
    returning b.key)`;
};

const SETTLE = `with ${CLOCK_CTE}, ${settleCtes(6)} select from (select $4::float8, $5::int) unused`;
