import { type ExpressionBuilder, sql } from 'kysely';
import { anyOf } from '../database/arrays.ts';
import { BOOKKEEPING_TABLES, type SluiceTables, wordsOf } from '../database/bookkeeping-tables.ts';
import type { Db } from '../database/database.ts';
import { epochMs, NOW } from '../database/now.ts';
import type { Place } from './sources.ts';

export const ORDER_KINDS = wordsOf(BOOKKEEPING_TABLES['sluice.orders'].kind);
export const ORDER_STATES = wordsOf(BOOKKEEPING_TABLES['sluice.orders'].state);
export type OrderKind = (typeof ORDER_KINDS)[number];
export type OrderState = (typeof ORDER_STATES)[number];

/** A durable request for work by a person; the holder of the source's lock serves it. */
export interface Order {
  readonly id: string;
  readonly source: string;
  readonly resource: string;
  readonly kind: OrderKind;
  readonly dateFrom: string | null;
  readonly dateTo: string | null;
  /** `verify --repair`: correct what differs. */
  readonly repair: boolean;
  /** `sync --full`: read everything, however long the request limit makes it wait. */
  readonly whole: boolean;
  /** How many rows may be deleted beyond the loss limit, and how many were deleted so far. */
  readonly acceptDeletes: number;
  readonly deleted: number;
  /** Columns and child fields whose losses are accepted. */
  readonly acceptLosses: readonly string[];
  /** What a `refresh` is to make equal, as slices: rows (`one 17`), values or days. */
  readonly targets: readonly string[];
  /** The readings of a refresh did not show rows that are stored: the parts of the list that may hold them became due. */
  readonly leftDue: boolean;
  /** How many rows the source counted before they were read, and when (epoch ms). */
  readonly counted: { readonly rows: number; readonly at: number } | null;
  readonly state: OrderState;
  readonly reason: string | null;
  /** Its last run failed a short while ago for an outage; it is tried again later. */
  readonly rests: boolean;
  readonly requests: number;
  readonly report: unknown;
  /** Epoch milliseconds. Slices proven since then need no reading. */
  readonly createdAt: number;
  readonly endedAt: number | null;
}

/** An order that waits with a reason follows a failed run. It rests ten minutes between tries: a day's outage costs some hundred. */
export const rests = sql<boolean>`(orders.state = 'waiting' and orders.reason is not null and exists (select from sluice.runs r
  where r.order_id = orders.id and r.state = 'failed' and r.ended_at between sluice.now() - interval '10 minutes' and sluice.now()))`;

const OPEN = ['waiting', 'running', 'paused'] as const;

const listedColumns = (eb: ExpressionBuilder<SluiceTables, 'sluice.orders'>) =>
  [
    'id',
    'source',
    'resource',
    'kind',
    'date_from as dateFrom',
    'date_to as dateTo',
    'repair',
    'whole',
    'state',
    'reason',
    'accept_losses as acceptLosses',
    'targets',
    'left_due as leftDue',
    sql<
      Order['counted']
    >`case when counted is not null then jsonb_build_object('rows', counted, 'at', ${epochMs('counted_at')}) end`.as(
      'counted',
    ),
    eb.cast<number>('accept_deletes', 'integer').as('acceptDeletes'),
    eb.cast<number>('deleted', 'integer').as('deleted'),
    eb.cast<number>('requests', 'integer').as('requests'),
    rests.as('rests'),
    epochMs<number>('created_at').as('createdAt'),
    epochMs('ended_at').as('endedAt'),
  ] as const;

const columns = (eb: ExpressionBuilder<SluiceTables, 'sluice.orders'>) => [...listedColumns(eb), 'report'] as const;

/** What may be ordered; what is not named is as in `PLAIN`. */
export type OrderedWork = Pick<Order, 'source' | 'resource' | 'kind'> & Partial<typeof PLAIN>;

const PLAIN: Pick<Order, 'dateFrom' | 'dateTo' | 'repair' | 'whole' | 'acceptDeletes' | 'acceptLosses' | 'targets'> = {
  ...{ dateFrom: null, dateTo: null, repair: false, whole: false },
  ...{ acceptDeletes: 0, acceptLosses: [], targets: [] },
};

export async function createOrder(db: Db, work: OrderedWork): Promise<Order> {
  const order = { ...PLAIN, ...work };
  return db
    .insertInto('sluice.orders')
    .values({
      source: order.source,
      resource: order.resource,
      kind: order.kind,
      date_from: order.dateFrom,
      date_to: order.dateTo,
      repair: order.repair,
      whole: order.whole,
      accept_deletes: order.acceptDeletes,
      accept_losses: order.acceptLosses,
      targets: order.targets,
      created_at: NOW,
    })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

/** The first count of an order: later attempts at it go by the same. */
export async function keepCount(db: Db, id: string, { rows, at }: NonNullable<Order['counted']>): Promise<void> {
  await db
    .updateTable('sluice.orders')
    .set({ counted: String(rows), counted_at: new Date(at).toISOString() })
    .where('id', '=', id)
    .where('counted', 'is', null)
    .execute();
}

/** The open order for exactly this, if any: the same command repeated after an interruption continues it at once. */
export async function adoptOrder(db: Db, work: OrderedWork): Promise<Order | null> {
  const order = { ...PLAIN, ...work };
  const adopted = await db
    .updateTable('sluice.orders')
    .set({ accept_deletes: sql<string>`greatest(accept_deletes, deleted + ${order.acceptDeletes})`, reason: null })
    .where('id', '=', eb =>
      eb
        .selectFrom('sluice.orders')
        .select(({ fn }) => fn.min('id').as('id'))
        .where('source', '=', order.source)
        .where('resource', '=', order.resource)
        .where('kind', '=', order.kind)
        .where('state', 'in', OPEN)
        .where('repair', '=', order.repair)
        .where('whole', '=', order.whole)
        .where('accept_losses', '=', sql<string[]>`cast(${order.acceptLosses} as text[])`)
        .where('targets', '=', sql<string[]>`cast(${order.targets} as text[])`)
        .where('date_from', 'is not distinct from', order.dateFrom)
        .where('date_to', 'is not distinct from', order.dateTo),
    )
    .returning(columns)
    .executeTakeFirst();
  return adopted ?? null;
}

/** Orders that have not ended, oldest first. */
export const openOrders = (db: Db, source: string): Promise<Order[]> => allOpenOrders(db, [source]);

export function allOpenOrders(db: Db, sources: readonly string[]): Promise<Order[]> {
  return db
    .selectFrom('sluice.orders')
    .select(columns)
    .where('source', '=', anyOf(sources))
    .where('state', 'in', OPEN)
    .orderBy('id')
    .execute();
}

export function readOrders(db: Db, ids: readonly string[]): Promise<Order[]> {
  return db.selectFrom('sluice.orders').select(columns).where('id', '=', anyOf(ids)).orderBy('id').execute();
}

/** The last refresh of a target that was done. */
export interface Refreshed {
  /** When it was asked for (epoch ms); the rows equal the source as of then. */
  readonly at: number;
  /** It showed all that is stored of its target, and no run was undone since: what becomes due later is another matter. */
  readonly isSettled: boolean;
}

export async function lastRefreshes(
  db: Db,
  { source, resource }: Place,
  targets: readonly string[],
): Promise<ReadonlyMap<string, Refreshed>> {
  const { rows } = await sql<{ target: string } & Refreshed>`
    select distinct on (target) target, ${epochMs('created_at')} as at, not left_due and not exists (
        select from sluice.runs r where r.source = o.source and r.resource = o.resource and r.kind = 'undo' and r.started_at >= o.created_at
      ) as "isSettled"
    from sluice.orders o, unnest(targets) as target
    where source = ${source} and resource = ${resource} and kind = 'refresh' and state = 'done' and target = ${anyOf(targets)}
    order by target, created_at desc`.execute(db);
  return new Map(rows.map(({ target, at, isSettled }) => [target, { at, isSettled }]));
}

/** The readings of an order did not show rows that are stored. */
export async function noteLeftDue(db: Db, id: string): Promise<void> {
  await db.updateTable('sluice.orders').set({ left_due: true }).where('id', '=', id).execute();
}

/** When the last sync of each list was asked for that read all of it (epoch ms). */
export async function lastWholeSyncs(db: Db, source: string): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('sluice.orders')
    .select(['resource', epochMs<number>('max(created_at)').as('at')])
    .where('source', '=', source)
    .where('kind', '=', 'sync')
    .where('whole', '=', true)
    .where('state', '=', 'done')
    .groupBy('resource')
    .execute();
  return new Map(rows.map(({ resource, at }) => [resource, at]));
}

/** Nothing more happens to the order while somebody waits for it. One that waits with a reason has failed; the service tries it again later. */
export const hasSettled = ({ state, reason }: Order): boolean =>
  state !== 'running' && (state !== 'waiting' || reason !== null);

/** An order as a list has it: without what a verification found, which may be long. */
export type ListedOrder = Omit<Order, 'report'>;

/** Newest first. `hasEnded`: only those that have. */
export function listOrders(
  db: Db,
  { sources, kind, hasEnded = false }: { sources: readonly string[]; kind?: OrderKind; hasEnded?: boolean },
  most: number,
): Promise<ListedOrder[]> {
  return db
    .selectFrom('sluice.orders')
    .select(listedColumns)
    .where('source', '=', anyOf(sources))
    .$if(kind !== undefined, query => query.where('kind', '=', kind as OrderKind))
    .$if(hasEnded, query => query.where('ended_at', 'is not', null))
    .orderBy('id', 'desc')
    .limit(most)
    .execute();
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
  const changed = await db
    .updateTable('sluice.orders')
    .set({ state: to, reason: change.reason ?? null, ended_at: ended ? NOW : null })
    .$if(change.report !== undefined, update => update.set({ report: JSON.stringify(change.report) }))
    .where('id', '=', id)
    .where('state', '=', anyOf(from))
    .returning('id')
    .execute();
  return changed.length > 0;
}
