import pLimit, { type LimitFunction } from 'p-limit';
import { type Clock, HOUR, MINUTE, SECOND, stopped } from '../../clock.ts';
import type { Engine } from '../../engine/run/engine.ts';
import { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { adoptOrder, createOrder, type Order, type OrderKind, readOrders } from '../../warehouse/ledgers/orders.ts';
import { type OrderWork, orderWork } from '../../warehouse/reports/report.ts';
import type { Progress } from '../output/progress.ts';
import type { Terminal } from '../output/terminal.ts';
import { zoned } from '../output/zoned.ts';
import { readUnderLock } from './read-under-lock.ts';

/** A service may come and go while a command reads; its schedule waits no longer than this for being served. */
const LOOK_MS = 10 * SECOND;

/** What a command wants read of one resource. */
export interface Wish {
  readonly resource: string;
  readonly kind: OrderKind;
  readonly dateFrom?: string | null;
  readonly dateTo?: string | null;
  readonly repair?: boolean;
  readonly acceptDeletes?: number;
}

/** An order as it ended, with what was done for it while the command ran. */
export interface Served {
  readonly order: Order;
  readonly work: OrderWork | undefined;
}

export interface Reading {
  readonly terminal: Terminal;
  readonly database: Database;
  /** What the bookkeeping calls it. */
  readonly source: string;
  /** Where its moments are told. */
  readonly timeZone: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly noWait: boolean;
  readonly progress: Progress;
  /** Of several sources as many are read at a time as Postgres has room for; whom the request limit holds up makes room for the next. */
  readonly inTurn?: LimitFunction | undefined;
  /** A service is there for this source. While the command reads instead of it, the schedule is served too. */
  readonly isServed: () => Promise<boolean>;
  readonly openEngine: () => Promise<Engine & { close(): Promise<void> }>;
}

/**
 * Orders what is wished, or goes on with the same order if it is still open, and stays until all have ended: where the source is
 * free it reads itself, where another process does it follows, and takes over when that one goes.
 */
export async function serveOrders(reading: Reading, wishes: readonly Wish[]): Promise<Served[]> {
  const { database, source } = reading;
  const since = await databaseNow(database);
  const adopted: Order[] = [];
  for (const wish of wishes) adopted.push(await placeOrder(database, source, wish));
  await untilEnded(reading, adopted, since);

  // An old order counts as done what was proven soon after it was given; who asks for a sync now wants the changes since, too.
  const old = adopted.filter(order => order.kind === 'sync' && order.createdAt < since - HOUR);
  const ended = await readOrders(
    database.kysely,
    old.map(order => order.id),
  );
  const again = wishes.filter(wish => ended.some(order => order.resource === wish.resource && order.state === 'done'));
  const fresh: Order[] = [];
  for (const wish of again) fresh.push(await placeOrder(database, source, wish));
  await untilEnded(reading, fresh, since);

  const last = adopted.map(order => fresh.find(other => other.resource === order.resource) ?? order);
  const work = await orderWork(
    database.kysely,
    last.map(order => order.id),
    since,
  );
  const orders = await readOrders(
    database.kysely,
    last.map(order => order.id),
  );
  return orders.map(order => ({ order, work: work.find(each => each.orderId === order.id) }));
}

/** A paused one is not gone on with behind the back of whoever paused it. */
export async function placeOrder(database: Database, source: string, wish: Wish): Promise<Order> {
  const { resource, kind } = wish;
  const { dateFrom = null, dateTo = null, repair = false, acceptDeletes = 0 } = wish;
  const order = { source, resource, kind, dateFrom, dateTo, repair, acceptDeletes };
  const open = await adoptOrder(database.kysely, order);
  if (open?.state === 'paused') {
    throw new SluiceError(
      'usage',
      `The same ${kind} of ${resource} was ordered before and is paused (order ${open.id}).`,
      {
        next: `Go on with it: sluice backfill resume ${open.id}. Give it up: sluice backfill cancel ${open.id}.`,
      },
    );
  }
  return open ?? createOrder(database.kysely, order);
}

async function untilEnded(reading: Reading, orders: readonly Order[], since: number): Promise<void> {
  const { terminal, clock, signal, database, inTurn = pLimit(1) } = reading;
  const ids = orders.map(order => order.id);
  if (ids.length === 0) return;
  let told = false;
  let read = false;
  for (;;) {
    if (signal.aborted) throw stopped(signal);
    const now = await readOrders(database.kysely, ids);
    // One that waits with a reason failed, and is the service's to try again.
    if (now.every(({ state, reason }) => state !== 'running' && (state !== 'waiting' || reason !== null))) return;
    // It made room for another source, and is held up for longer than this.
    if (read) await clock.sleep(MINUTE, signal);
    read = await inTurn(() => readHere({ ...reading, inTurn }, ids));
    if (read) continue;
    if (!told) terminal.note('Another process reads this source; following its progress.');
    told = true;
    await follow(reading, now, since);
    await clock.sleep(SECOND, signal);
  }
}

/** Reads the orders, and what the schedule wants, until nothing is due or another source may go on instead; false where another process reads. */
async function readHere(reading: Reading & { inTurn: LimitFunction }, ids: readonly string[]): Promise<boolean> {
  const { database, source, signal, inTurn, openEngine } = reading;
  if (signal.aborted) throw stopped(signal);
  const serves = {
    orders: (order: Order) => ids.includes(order.id),
    slots: await reading.isServed(),
    get yields() {
      return inTurn.pendingCount > 0;
    },
  };
  const looked = new AbortController();
  const looking = lookForService(reading, serves, looked.signal);
  return readUnderLock({ database, source, signal, openEngine }, serves).finally(() => {
    looked.abort();
    return looking;
  });
}

/** Keeps `serves.slots` up to date until `over`. */
async function lookForService(reading: Reading, serves: { slots: boolean }, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await reading.clock.sleep(LOOK_MS, over).catch(() => undefined);
    // An outage of the database is the reading's to tell.
    if (!over.aborted) serves.slots = await reading.isServed().catch(() => serves.slots);
  }
}

async function follow(reading: Reading, orders: readonly Order[], since: number): Promise<void> {
  const { progress } = reading;
  const work = await orderWork(
    reading.database.kysely,
    orders.map(order => order.id),
    since,
  );
  for (const { orderId, rowsRead, requests, waitingUntil } of work) {
    const order = orders.find(each => each.id === orderId);
    if (!order || (order.state !== 'waiting' && order.state !== 'running')) continue;
    progress.stand({ resource: order.resource, rows: rowsRead, requests, share: null });
    if (waitingUntil === null) continue;
    progress.waiting(waitingUntil);
    if (!reading.noWait) continue;
    throw new SluiceError('quota', `The request limit is used up until ${zoned(waitingUntil, reading.timeZone)}.`, {
      next: 'The other process goes on then. To stay with it, run the command without --no-wait.',
    });
  }
}
