import { sql } from 'kysely';
import type { Database, Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import type { Place } from '../ledgers/place.ts';

/**
 * - `planned`: not sent, or known not to have arrived.
 * - `sent`: committed before the request went out; found after a crash, its outcome is unknown too.
 * - `created`, `refused`: what the source answered, or what was found at the source since.
 * - `unknown`: no answer that tells.
 */
export type PushState = 'planned' | 'sent' | 'created' | 'refused' | 'unknown';

/** One thing to be created at a source, named by its content: the same line in another file is the same thing. */
export interface PushItem {
  readonly id: string;
  readonly line: number;
  readonly hash: string;
  readonly ordinal: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly state: PushState;
  readonly message: string | null;
  /** Epoch milliseconds from when on the source carries nothing of it out any more; null: it was never sent. */
  readonly quietAt: number | null;
  /** What was there before it was sent: rows up to this id, or stored up to this moment. */
  readonly lastId: string | null;
  readonly lastAt: string | null;
  /** The id that the source's answer named. */
  readonly sourceId: string | null;
  /** Its row in the warehouse, once that was seen. */
  readonly rowKey: string | null;
}

const columns = sql`id, line, hash, ordinal, body, state, message, ${epochMs('quiet_at')} as "quietAt", last_id as "lastId",
  last_at as "lastAt", source_id as "sourceId", row_key as "rowKey"`;

/** Lines to a statement: a hundred thousand at once would be one parameter of 50 MB. */
const CHUNK = 5000;

/** Begins a push. Lines that an earlier one knows keep their state. */
export async function startPush(
  database: Database,
  { source, resource }: Place,
  file: string,
  lines: readonly Pick<PushItem, 'line' | 'hash' | 'ordinal' | 'body'>[],
): Promise<string> {
  return database.transaction(async tx => {
    // Only the holder of the push's lock comes here, so what still runs was killed.
    await sql`update sluice.pushes set state = 'stopped', reason = 'Its process ended.', ended_at = sluice.now()
      where source = ${source} and resource = ${resource} and state = 'running'`.execute(tx);
    const { rows } = await sql<{ id: string }>`
      insert into sluice.pushes (source, resource, file, lines, started_at)
      values (${source}, ${resource}, ${file}, ${lines.length}, sluice.now()) returning id`.execute(tx);
    const id = (rows[0] as { id: string }).id;
    for (let at = 0; at < lines.length; at += CHUNK) {
      const chunk = lines.slice(at, at + CHUNK).map(({ line, hash, ordinal, body }) => ({ line, hash, ordinal, body }));
      await sql`
        insert into sluice.push_items (source, resource, hash, ordinal, push_id, line, body)
        select ${source}, ${resource}, hash, ordinal, cast(${id} as bigint), line, body
        from jsonb_to_recordset(cast(${JSON.stringify(chunk)} as jsonb)) as d(hash text, ordinal int, line int, body jsonb)
        on conflict (source, resource, hash, ordinal) do update set push_id = excluded.push_id, line = excluded.line`.execute(
        tx,
      );
    }
    return id;
  });
}

export async function endPush(
  db: Db,
  id: string,
  end: { state: 'done' | 'failed' | 'stopped'; reason: string | null; requests: number },
): Promise<void> {
  await sql`update sluice.pushes set state = ${end.state}, reason = ${end.reason}, requests = ${end.requests},
    ended_at = sluice.now() where id = cast(${id} as bigint)`.execute(db);
}

/** The lines of a push, in the order of its file. */
export async function readItems(db: Db, pushId: string): Promise<PushItem[]> {
  const { rows } = await sql<PushItem>`select ${columns} from sluice.push_items
    where push_id = cast(${pushId} as bigint) order by line, ordinal`.execute(db);
  return rows;
}

/** The states of lines that the log knows, by hash and ordinal as `hash 1`; changes nothing. */
export async function knownStates(
  db: Db,
  { source, resource }: Place,
  hashes: readonly string[],
): Promise<Map<string, PushState>> {
  const { rows } = await sql<{ name: string; state: PushState }>`
    select hash || ' ' || ordinal as name, state from sluice.push_items
    where source = ${source} and resource = ${resource} and hash = any(cast(${hashes} as text[]))`.execute(db);
  return new Map(rows.map(({ name, state }) => [name, state]));
}

/** What the warehouse holds before anything is sent. */
export interface Before {
  readonly lastId: string | null;
  readonly lastAt: string;
}

/**
 * Commits that these lines go out now; false when not all of them were there to be sent, and then none is. `quietMs`: for how long
 * the source may still carry them out.
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

/** What became of a line. `quiet`: the source has answered, so it will do nothing more about it. */
export interface PushNews {
  readonly id: string;
  readonly state: PushState;
  readonly message?: string | null;
  readonly sourceId?: string | null;
  readonly rowKey?: string | null;
  readonly quiet?: boolean;
}

export async function noteNews(db: Db, news: readonly PushNews[]): Promise<void> {
  for (let at = 0; at < news.length; at += CHUNK) {
    await sql`
      update sluice.push_items i set state = d.state, message = d.message, source_id = coalesce(d."sourceId", i.source_id),
        row_key = coalesce(d."rowKey", i.row_key), answered_at = case when d.quiet then sluice.now() else i.answered_at end,
        found_at = case when d."rowKey" is not null then sluice.now() else i.found_at end,
        quiet_at = case when d.quiet then least(i.quiet_at, sluice.now()) else i.quiet_at end
      from jsonb_to_recordset(cast(${JSON.stringify(news.slice(at, at + CHUNK))} as jsonb))
        as d(id bigint, state text, message text, "sourceId" text, "rowKey" text, quiet boolean)
      where i.id = d.id`.execute(db);
  }
}
