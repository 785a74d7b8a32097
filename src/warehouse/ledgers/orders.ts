import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';

export type OrderKind = 'sync' | 'backfill' | 'verify';
export type OrderState = 'waiting' | 'running' | 'paused' | 'done' | 'failed' | 'cancelled';

/** What a person wants read, durable: whoever holds the source's lock serves it. */
export interface Order {
  readonly id: string;
  readonly source: string;
  readonly resource: string;
  readonly kind: OrderKind;
  readonly dateFrom: string | null;
  readonly dateTo: string | null;
  /** `verify --repair`: make equal what differs. */
  readonly repair: boolean;
  /** Rows that may be deleted although the fuse forbids it, and those deleted so far. */
  readonly acceptDeletes: number;
  readonly deleted: number;
  readonly state: OrderState;
  readonly reason: string | null;
  /** Its last run failed for an outage a short while ago, and it is to be tried again. */
  readonly rests: boolean;
  readonly requests: number;
  readonly report: unknown;
  /** Epoch milliseconds. What is proven since needs no reading. */
  readonly createdAt: number;
  readonly endedAt: number | null;
}

/**
 * An order that waits with a reason was put back after a run that failed. It rests for ten minutes before the next try, so that an
 * outage of a day costs some hundred tries.
 */
export const rests = sql<boolean>`(orders.state = 'waiting' and orders.reason is not null and exists (select from sluice.runs r
  where r.order_id = orders.id and r.state = 'failed' and r.ended_at > sluice.now() - interval '10 minutes'))`;

const columns = sql`id, source, resource, kind, date_from as "dateFrom", date_to as "dateTo", repair,
  accept_deletes::int as "acceptDeletes", deleted::int as deleted, state, reason, ${rests} as rests, requests::int as requests, report,
  ${epochMs('created_at')} as "createdAt", ${epochMs('ended_at')} as "endedAt"`;

export async function createOrder(
  db: Db,
  order: Pick<Order, 'source' | 'resource' | 'kind'> &
    Partial<Pick<Order, 'dateFrom' | 'dateTo' | 'repair' | 'acceptDeletes'>>,
): Promise<Order> {
  const { rows } = await sql<Order>`
    insert into sluice.orders (source, resource, kind, date_from, date_to, repair, accept_deletes, created_at)
    values (${order.source}, ${order.resource}, ${order.kind}, ${order.dateFrom ?? null}, ${order.dateTo ?? null},
      ${order.repair ?? false}, ${order.acceptDeletes ?? 0}, sluice.now())
    returning ${columns}`.execute(db);
  return rows[0] as Order;
}

/** The open order that asks for just this, if there is one: the same command after an interruption goes on with it, at once. */
export async function adoptOrder(
  db: Db,
  order: Pick<Order, 'source' | 'resource' | 'kind' | 'dateFrom' | 'dateTo' | 'repair' | 'acceptDeletes'>,
): Promise<Order | null> {
  const { rows } = await sql<Order>`
    update sluice.orders set accept_deletes = greatest(accept_deletes, deleted + ${order.acceptDeletes}),
      reason = null
    where id = (select min(id) from sluice.orders where source = ${order.source} and resource = ${order.resource}
      and kind = ${order.kind} and state in ('waiting', 'running', 'paused') and repair = ${order.repair}
      and date_from is not distinct from cast(${order.dateFrom} as date) and date_to is not distinct from cast(${order.dateTo} as date))
    returning ${columns}`.execute(db);
  return rows[0] ?? null;
}

/** Orders not yet ended, oldest first. */
export async function openOrders(db: Db, source: string): Promise<Order[]> {
  const { rows } = await sql<Order>`select ${columns} from sluice.orders
    where source = ${source} and state in ('waiting', 'running', 'paused') order by id`.execute(db);
  return rows;
}

export async function readOrders(db: Db, ids: readonly string[]): Promise<Order[]> {
  const { rows } =
    await sql<Order>`select ${columns} from sluice.orders where id = any(cast(${ids} as bigint[])) order by id`.execute(
      db,
    );
  return rows;
}

export async function listOrders(db: Db, source: string, kind: OrderKind, most: number): Promise<Order[]> {
  const { rows } = await sql<Order>`select ${columns} from sluice.orders
    where source = ${source} and kind = ${kind} order by id desc limit ${most}`.execute(db);
  return rows;
}

/** Changes the state of an order that is in one of `from`; false when it is in none of them. */
export async function setOrderState(
  db: Db,
  id: string,
  from: readonly OrderState[],
  to: OrderState,
  change: { reason?: string | null; report?: unknown } = {},
): Promise<boolean> {
  const ended = to === 'done' || to === 'failed' || to === 'cancelled';
  const { rows } = await sql`
    update sluice.orders set state = ${to}, reason = ${change.reason ?? null},
      report = coalesce(cast(${change.report === undefined ? null : JSON.stringify(change.report)} as jsonb), report),
      ended_at = case when ${ended} then sluice.now() end
    where id = cast(${id} as bigint) and state = any(cast(${from} as text[])) returning id`.execute(db);
  return rows.length > 0;
}
