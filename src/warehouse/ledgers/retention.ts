import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { daysAgo } from '../database/now.ts';

/** How long finished bookkeeping and what once was are kept, in days; null: for ever. Live rows are never touched. */
export interface Retention {
  /** Of the counts that finished requests become after a day. */
  readonly requests: number;
  /** Of runs and of orders, at least `RUN_DAYS`. */
  readonly runs: number;
  readonly slots: number;
  /** Quarantined records, since they were stored in the end or since a reading last showed them. */
  readonly quarantine: number;
  /** Rows that were deleted, and earlier versions of rows where all are kept; of versions, at least `VERSION_DAYS`. */
  readonly history: number | null;
  /** The content of pushed lines; their hashes stay, so that no line is sent twice. */
  readonly pushes: number | null;
}

export const RETENTION: Retention = { requests: 7, runs: 90, slots: 90, quarantine: 30, history: null, pushes: null };

/** The tables whose deleted rows and earlier versions `row_history` of their schema holds. */
type HistoryOf = readonly { readonly schema: string; readonly name: string; readonly history: boolean }[];

/** How many days a rewrite stays open: until then, what its runs replaced can be restored. */
export const UNDO_DAYS = 7;

/** How many days an answer is known for. */
const ANSWER_DAYS = 30;

/**
 * How many days runs and orders are kept in any case: a rewrite names the runs of the 24 hours before it, and an order that read everything again
 * settles a restore that the changes of a week show.
 */
export const RUN_DAYS = UNDO_DAYS + 1;

/** How many days earlier versions are kept in any case: the log of changes shows what each was before. */
export const VERSION_DAYS = 31;

/** How many days changes are kept: one day less than what they show. */
const logDays = (history: number | null): number => Math.min(history ?? VERSION_DAYS, VERSION_DAYS) - 1;

/**
 * Forgets what is older than anyone asks for: finished requests, runs, orders and slots, quarantine, history and pushed lines. What is short goes in
 * one statement; what may be long, in one each, so that what was forgotten stays forgotten if the next takes too long.
 */
export async function forgetOldWork(
  db: Db,
  source: string,
  kept: Retention = RETENTION,
  tables: HistoryOf = [],
): Promise<void> {
  await compactRequests(db, source);
  const runDays = Math.max(kept.runs, RUN_DAYS);
  const changes = [
    oldRows('sluice.requests_by_minute', source, sql`minute < ${daysAgo(kept.requests)}`),
    oldRuns(source, runDays),
    oldRows('sluice.orders', source, sql`ended_at < ${daysAgo(runDays)}`),
    oldSlots(source, kept.slots),
    // The loss limit looks back one day.
    oldRows('sluice.losses', source, sql`at < ${daysAgo(2)}`),
    oldRows('sluice.rewrites', source, sql`at < ${daysAgo(runDays)}`),
    // Those of pages and filters that are not asked for any more; the others come again.
    oldRows('sluice.answers', source, sql`kept_at < ${daysAgo(ANSWER_DAYS)}`),
    ...oldRecords(source, kept.quarantine),
  ];
  const parts = changes.map((change, index) => sql`${sql.id(`part${index}`)} as (${change})`);
  await sql`with ${sql.join(parts)} select`.execute(db);
  for (const schema of new Set(tables.map(table => table.schema)))
    await forgetLogged(db, schema, logDays(kept.history));
  for (const table of tables) for (const change of oldHistory(table, kept.history)) await change.execute(db);
  if (kept.pushes !== null) await oldLines(source, kept.pushes).execute(db);
}

/** Forgets the oldest changes, so that those that are left have no gaps. Numbers that somebody skipped (docs/runbook.md) stay so. SQL: a table known at run time. */
async function forgetLogged(db: Db, schema: string, days: number): Promise<void> {
  const log = sql.id(schema, 'change_log');
  await sql`
    with young as (select coalesce(
        (select number from ${log} where seen_at >= ${daysAgo(days)} order by number limit 1),
        (select last + 1 from sluice.change_numbers where schema = ${schema})) as number),
    forgotten as (delete from ${log} l using young y where l.number < y.number returning l.number)
    update sluice.change_numbers n set first = greatest(n.first, y.number) from young y
    where n.schema = ${schema} and exists (select from forgotten)`.execute(db);
}

/** Keeps requests for a day, and then how many there were in each minute. SQL: rows of one table become counts of another. */
async function compactRequests(db: Db, source: string): Promise<void> {
  await sql`
    with finished as (
      delete from sluice.requests
      where source = ${source} and granted_at < ${daysAgo(1)} and counts_until < sluice.now()
      returning date_trunc('minute', granted_at, 'UTC') as minute, lane, split_part(coalesce(purpose, 'lost'), ' ', 1) as purpose, status)
    insert into sluice.requests_by_minute as m (source, minute, lane, purpose, status, requests)
    select ${source}, minute, lane, purpose, coalesce(status, 0), count(*) from finished group by 2, 3, 4, 5
    on conflict (source, minute, lane, purpose, status) do update set requests = m.requests + excluded.requests`.execute(
    db,
  );
}

/** A statement, or part of one: no two change the same row. SQL: each is a table of cases, or of tables known at run time. */
type Change = RawBuilder<unknown>;

const oldRows = (table: string, source: string, isOld: Change): Change =>
  sql`delete from ${sql.table(table)} where source = ${source} and ${isOld}`;

/** The newest slot of a resource shows what was missed, however old it is. */
const oldSlots = (source: string, days: number): Change =>
  sql`delete from sluice.slots s where source = ${source} and slot_at < ${daysAgo(days)} and exists (
    select from sluice.slots n where n.source = s.source and n.resource = s.resource and n.slot_at > s.slot_at)`;

/** How the last sync of a resource ended, and when the last successful one did, shows what is wrong with it, however old it is. */
const oldRuns = (source: string, days: number): Change =>
  sql`delete from sluice.runs r where source = ${source} and ended_at < ${daysAgo(days)}
    and (kind not in ('slot', 'sync') or state = 'stopped' or state = 'done' and requests = 0 or exists (
      select from sluice.runs n where n.source = r.source and n.resource = r.resource and n.kind in ('slot', 'sync') and n.ended_at > r.ended_at
        and (n.state = 'done' and n.requests > 0 or n.state = 'failed' and r.state = 'failed')))`;

/**
 * A record that the source still shows comes back when its slice is next read. One without a readable key is only emptied: since when it
 * is there decides whether it may be a row that is missing.
 */
function oldRecords(source: string, days: number): Change[] {
  const isOld = sql`coalesce(resolved_at, last_seen) < ${daysAgo(days)}`;
  const isUnreadable = sql`key like '?%' and resolved_at is null`;
  return [
    oldRows('sluice.quarantine', source, sql`${isOld} and not (${isUnreadable})`),
    sql`update sluice.quarantine set payload = '', reasons = '{}'
      where source = ${source} and ${isOld} and ${isUnreadable} and payload <> ''`,
  ];
}

function oldHistory({ schema, name, history }: HistoryOf[number], days: number | null): Change[] {
  const forget = (endedBy: 'changed' | 'deleted', after: number | null) =>
    after === null
      ? []
      : [
          sql`delete from ${sql.id(schema, 'row_history')}
            where resource = ${name} and ended_by = ${endedBy} and valid_to < ${daysAgo(after)}`,
        ];
  const versionDays = !history ? VERSION_DAYS : days && Math.max(days, VERSION_DAYS);
  return [...forget('deleted', days), ...forget('changed', versionDays)];
}

/**
 * Empties lines of pushes that ended long ago. A push whose process was killed never ends: it is over if it sent nothing for two days
 * more, the longest that it may wait for the request limit.
 */
const oldLines = (source: string, days: number): Change =>
  sql`update sluice.push_items i set body = '{}', message = null from sluice.pushes p
    where i.source = ${source} and p.id = i.push_id and (i.body <> '{}' or i.message is not null)
      and (p.ended_at < ${daysAgo(days)} or p.ended_at is null and p.started_at < ${daysAgo(days + 2)}
        and not exists (select from sluice.push_items n where n.push_id = p.id and n.sent_at > ${daysAgo(days + 2)}))`;
