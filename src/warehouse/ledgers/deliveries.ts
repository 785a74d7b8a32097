import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { fromNow, NOW } from '../database/now.ts';

/** Whose progress: a receiver of one source. */
export interface DeliveryKey {
  readonly source: string;
  readonly name: string;
}

/** How far a receiver is, for people. */
export interface Delivery extends DeliveryKey {
  /** Number of the next change to look at. */
  readonly next: number;
  /** Changes of the source from that number on, wanted or not. */
  readonly behind: number;
  readonly failingSince: string | null;
  readonly attempts: number;
  readonly retryAt: string | null;
  readonly pausedAt: string | null;
  /** Why it fails or is paused. */
  readonly reason: string | null;
  readonly lastDeliveredAt: string | null;
}

/** Begins with the change `next` where nothing is known of it; SQL: without a number, with the one after the newest. */
export async function beginDelivery(
  db: Db,
  { source, name }: DeliveryKey,
  { schema, next }: { readonly schema: string; readonly next?: number | undefined },
): Promise<void> {
  await sql`insert into sluice.deliveries (source, name, next)
    select ${source}, ${name}, coalesce(cast(${next ?? null} as bigint),
      (select last + 1 from sluice.change_numbers where schema = ${schema}), 1)
    on conflict do nothing`.execute(db);
}

/** SQL: numbers as such, and the newest of another table. */
export async function listDeliveries(
  db: Db,
  sources: readonly { readonly name: string; readonly schema: string }[],
): Promise<Delivery[]> {
  const { rows } = await sql<Delivery>`
    select d.source, d.name, d.next::float8 as next, greatest(coalesce(n.last, 0) - d.next + 1, 0)::float8 as behind,
      d.failing_since as "failingSince", d.attempts, d.retry_at as "retryAt", d.paused_at as "pausedAt", d.reason,
      d.last_delivered_at as "lastDeliveredAt"
    from jsonb_to_recordset(cast(${JSON.stringify(sources.map(({ name, schema }) => ({ name, schema })))} as jsonb)) as s(name text, schema text)
    join sluice.deliveries d on d.source = s.name left join sluice.change_numbers n on n.schema = s.schema
    order by d.source, d.name`.execute(db);
  return rows;
}

/** A receiver whose turn this process has until `lockedUntil`, which tells it from later turns. */
export interface Turn extends DeliveryKey {
  readonly next: number;
  /** The last number of a message that may have been delivered: its next attempt has the same content and id. */
  readonly sendingTo: number | null;
  readonly attempts: number;
  readonly failingForMs: number;
  readonly lockedUntil: string;
  /** The numbers of the changes that are kept. */
  readonly first: number;
  readonly last: number;
}

/**
 * Takes the turn of a receiver that has changes before it and is neither paused nor waiting; null for another, or while another process has it.
 * A time further ahead than it can be predates a backward clock step, and counts for nothing. SQL: one conditional statement, with the numbers of
 * another table.
 */
export async function takeTurn(
  db: Db,
  { source, name }: DeliveryKey,
  {
    schema,
    leaseMs,
    longestWaitMs,
  }: { readonly schema: string; readonly leaseMs: number; readonly longestWaitMs: number },
): Promise<Turn | null> {
  const isOver = (column: string, mostMs: number) =>
    sql`(${sql.ref(column)} > ${NOW} and ${sql.ref(column)} <= ${fromNow(mostMs)}) is not true`;
  const { rows } = await sql<Turn>`
    update sluice.deliveries d set locked_until = ${fromNow(leaseMs)} from sluice.change_numbers n
    where d.source = ${source} and d.name = ${name} and n.schema = ${schema} and d.paused_at is null
      and ${isOver('d.locked_until', leaseMs)} and ${isOver('d.retry_at', longestWaitMs)}
      and (d.next <= n.last or d.next > n.last + 1)
    returning d.source, d.name, d.next::float8 as next, d.sending_to::float8 as "sendingTo", d.attempts,
      coalesce(extract(epoch from ${NOW} - d.failing_since) * 1000, 0)::float8 as "failingForMs",
      d.locked_until as "lockedUntil", n.first::float8 as first, n.last::float8 as last`.execute(db);
  return rows[0] ?? null;
}

/** Records that all up to `to` is about to be sent; false if the turn has less than `neededMs` left, or somebody has moved the receiver. */
export async function noteSending(db: Db, turn: Turn, to: number, neededMs: number): Promise<boolean> {
  const inTime = sql`and next = ${turn.next} and locked_until > ${fromNow(neededMs)} returning true`;
  const { rows } = await change(db, turn, sql`sending_to = ${to}`, inTime);
  return rows.length === 1;
}

/** Goes on after `to`, unless somebody has moved the receiver meanwhile, and ends the turn. `isSent`: a message was delivered. */
export async function notePassed(db: Db, turn: Turn, to: number, isSent: boolean): Promise<void> {
  const delivered = isSent ? sql`, last_delivered_at = ${NOW}` : sql``;
  await change(
    db,
    turn,
    sql`next = case when next = ${turn.next} then ${to + 1} else next end, sending_to = null, attempts = 0,
      failing_since = null, retry_at = null, reason = null, locked_until = null${delivered}`,
  );
}

/** Records a failure, and ends the turn. */
export async function noteFailed(db: Db, turn: Turn, reason: string, then: number | 'pause'): Promise<void> {
  const next = then === 'pause' ? sql`paused_at = ${NOW}, retry_at = null` : sql`retry_at = ${fromNow(then)}`;
  await change(
    db,
    turn,
    sql`attempts = attempts + 1, failing_since = coalesce(failing_since, ${NOW}), reason = ${reason}, locked_until = null, ${next}`,
  );
}

export async function releaseTurn(db: Db, turn: Turn): Promise<void> {
  await change(db, turn, sql`locked_until = null`);
}

/** SQL: expressions over what the row holds, by whoever has the turn alone. */
const change = (db: Db, { source, name, lockedUntil }: Turn, set: RawBuilder<unknown>, more = sql``) =>
  sql`update sluice.deliveries set ${set}
    where source = ${source} and name = ${name} and locked_until = cast(${lockedUntil} as timestamptz) ${more}`.execute(
    db,
  );

/** Lets a receiver go on, at the change `next` or where it was; what fails or paused it is forgotten. */
export async function resumeDelivery(db: Db, { source, name }: DeliveryKey, next?: number): Promise<void> {
  await db
    .updateTable('sluice.deliveries')
    .set({ attempts: 0, failing_since: null, retry_at: null, paused_at: null, reason: null })
    .$if(next !== undefined, query => query.set({ next: next ?? 0, sending_to: null }))
    .where('source', '=', source)
    .where('name', '=', name)
    .execute();
}

/** Receivers of a source that have not been sent all changes of a row yet. SQL: the log of a schema. */
export async function receiversBefore(
  db: Db,
  source: string,
  { schema, resource, key }: { readonly schema: string; readonly resource: string; readonly key: string },
): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from sluice.deliveries
    where source = ${source} and next <= (select max(number) from ${sql.id(schema, 'change_log')} where resource = ${resource} and key = ${key})
    order by name`.execute(db);
  return rows.map(({ name }) => name);
}

/** False if nothing was known of it. */
export async function removeDelivery(db: Db, { source, name }: DeliveryKey): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('sluice.deliveries')
    .where('source', '=', source)
    .where('name', '=', name)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Receivers of a source that nothing is delivered to until somebody resumes them. */
export function pausedDeliveries(db: Db, source: string): Promise<{ name: string; reason: string | null }[]> {
  return db
    .selectFrom('sluice.deliveries')
    .select(['name', 'reason'])
    .where('source', '=', source)
    .where('paused_at', 'is not', null)
    .orderBy('name')
    .execute();
}
