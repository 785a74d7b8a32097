import { type Selectable, sql } from 'kysely';
import { anyOf } from '../database/arrays.ts';
import type { SluiceTables } from '../database/bookkeeping-tables.ts';
import type { Database, Db } from '../database/database.ts';
import { epochMs, NOW } from '../database/now.ts';
import type { Place } from '../ledgers/sources.ts';

/**
 * - `planned`: not sent, or known not to have arrived.
 * - `sent`: committed before the request went out; if a crash left it so, the outcome is unknown.
 * - `created`, `refused`: the source's answer, or what was found at the source since.
 * - `unknown`: no answer shows the outcome.
 */
export type PushState = Selectable<SluiceTables['sluice.push_items']>['state'];

/** A record to create at a source, identified by its content: the same line in another file is the same item. */
export interface PushItem {
  readonly id: string;
  readonly line: number;
  readonly hash: string;
  readonly ordinal: number;
  /** Without fields once the line was emptied: see `isEmptied`. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly state: PushState;
  readonly message: string | null;
  /** Epoch milliseconds after which the source no longer acts on it; null: it was never sent. */
  readonly quietAt: number | null;
  /** Rows that existed before it was sent: up to this id, or stored up to this moment. */
  readonly lastId: string | null;
  readonly lastAt: string | null;
  /** The id that the source's answer named. */
  readonly sourceId: string | null;
  /** Key of its row in the warehouse, once seen. */
  readonly rowKey: string | null;
}

/** The line's content is not kept any more, only its hash. */
export const isEmptied = ({ body }: Pick<PushItem, 'body'>): boolean => Object.keys(body).length === 0;

/** Lines per statement: a hundred thousand at once would be one parameter of 50 MB. */
const CHUNK = 5000;

/** Begins a push. Lines known from an earlier push keep their state; an emptied one gets its content back only if it is still to be created. */
export async function startPush(
  database: Database,
  { source, resource }: Place,
  file: string,
  lines: readonly Pick<PushItem, 'line' | 'hash' | 'ordinal' | 'body'>[],
): Promise<string> {
  return database.transaction(async tx => {
    // Only the holder of the push's lock gets here, so a push that still runs was killed.
    await tx
      .updateTable('sluice.pushes')
      .set({ state: 'stopped', reason: 'Its process ended.', ended_at: NOW })
      .where(eb => eb.and({ source, resource, state: 'running' }))
      .execute();
    const { id } = await tx
      .insertInto('sluice.pushes')
      .values({ source, resource, file, lines: lines.length, started_at: NOW })
      .returning('id')
      .executeTakeFirstOrThrow();
    for (let at = 0; at < lines.length; at += CHUNK)
      await addItems(tx, { source, resource }, id, lines.slice(at, at + CHUNK));
    return id;
  });
}

/** SQL: thousands of lines in one parameter. */
async function addItems(
  tx: Db,
  { source, resource }: Place,
  pushId: string,
  lines: readonly Pick<PushItem, 'line' | 'hash' | 'ordinal' | 'body'>[],
): Promise<void> {
  const data = lines.map(({ line, hash, ordinal, body }) => ({ line, hash, ordinal, body }));
  await sql`
    insert into sluice.push_items (source, resource, hash, ordinal, push_id, line, body)
    select ${source}, ${resource}, hash, ordinal, cast(${pushId} as bigint), line, body
    from jsonb_to_recordset(cast(${JSON.stringify(data)} as jsonb)) as d(hash text, ordinal int, line int, body jsonb)
    on conflict (source, resource, hash, ordinal) do update set push_id = excluded.push_id, line = excluded.line,
      body = case when push_items.body = '{}' and push_items.state <> 'created' then excluded.body else push_items.body end`.execute(
    tx,
  );
}

export async function endPush(
  db: Db,
  id: string,
  end: { state: 'done' | 'failed' | 'stopped'; reason: string | null; requests: number },
): Promise<void> {
  const { state, reason, requests } = end;
  await db.updateTable('sluice.pushes').set({ state, reason, requests, ended_at: NOW }).where('id', '=', id).execute();
}

/** The lines of a push, in the order of its file. */
export async function readItems(db: Db, pushId: string): Promise<PushItem[]> {
  const rows = await db
    .selectFrom('sluice.push_items')
    .select(['id', 'line', 'hash', 'ordinal', 'body', 'state', 'message', 'last_id as lastId', 'last_at as lastAt'])
    .select(['source_id as sourceId', 'row_key as rowKey', epochMs('quiet_at').as('quietAt')])
    .where('push_id', '=', pushId)
    .orderBy('line')
    .orderBy('ordinal')
    .execute();
  return rows as (Omit<(typeof rows)[number], 'body'> & Pick<PushItem, 'body'>)[];
}

/** The states of known lines, keyed by hash and ordinal as `hash 1`. */
export async function knownStates(
  db: Db,
  { source, resource }: Place,
  hashes: readonly string[],
): Promise<Map<string, PushState>> {
  const rows = await db
    .selectFrom('sluice.push_items')
    .select(['hash', 'ordinal', 'state'])
    .where(eb => eb.and({ source, resource, hash: anyOf(hashes) }))
    .execute();
  return new Map(rows.map(({ hash, ordinal, state }) => [`${hash} ${ordinal}`, state]));
}

/** What the warehouse holds before lines are sent. */
export interface Before {
  readonly lastId: string | null;
  readonly lastAt: string;
}

/**
 * Commits that these lines are being sent; false, and none is marked, unless all of them can be. `quietMs`: how long the source may
 * still act on them. SQL: it locks, counts and updates in one statement.
 */
export async function markSent(
  db: Db,
  pushId: string,
  ids: readonly string[],
  quietMs: number,
  before: Before | null,
): Promise<boolean> {
  const { rows } = await sql`
    with open as (select id from sluice.push_items where id = any(cast(${ids} as bigint[])) and push_id = cast(${pushId} as bigint)
      and state in ('planned', 'sent') for update)
    update sluice.push_items i set state = 'sent', message = null, answered_at = null, source_id = null, sent_at = sluice.now(),
      quiet_at = sluice.now() + make_interval(secs => ${quietMs / 1000}),
      last_id = cast(${before?.lastId ?? null} as bigint), last_at = cast(${before?.lastAt ?? null} as timestamptz)
    from open where i.id = open.id and (select count(*) from open) = ${ids.length} returning i.id`.execute(db);
  return rows.length === ids.length;
}

/** What became of a line. `quiet`: an answer arrived, and whether it shows that the source will not act on the line any more. */
export interface PushNews {
  readonly id: string;
  readonly state: PushState;
  readonly message?: string | null;
  readonly sourceId?: string | null;
  readonly rowKey?: string | null;
  readonly quiet?: boolean;
}

/** SQL: thousands of lines in one parameter. */
export async function noteNews(db: Db, news: readonly PushNews[]): Promise<void> {
  for (let at = 0; at < news.length; at += CHUNK) {
    await sql`
      update sluice.push_items i set state = d.state, message = d.message, source_id = coalesce(d."sourceId", i.source_id),
        row_key = coalesce(d."rowKey", i.row_key), answered_at = case when d.quiet is not null then sluice.now() else i.answered_at end,
        found_at = case when d."rowKey" is not null then sluice.now() else i.found_at end,
        quiet_at = case when d.quiet then least(i.quiet_at, sluice.now()) else i.quiet_at end
      from jsonb_to_recordset(cast(${JSON.stringify(news.slice(at, at + CHUNK))} as jsonb))
        as d(id bigint, state text, message text, "sourceId" text, "rowKey" text, quiet boolean)
      where i.id = d.id`.execute(db);
  }
}
