import pLimit, { type LimitFunction } from 'p-limit';
import { runBeside } from '../../any-signal.ts';
import type { Budget } from '../../budget/budget.ts';
import { HOUR, MINUTE, SECOND, stopped } from '../../clock.ts';
import type { LoopEvent } from '../../engine/run/engine.ts';
import { SluiceError } from '../../errors.ts';
import { type OrderRequest, placeOrder } from '../../service/orders/order-requests.ts';
import { wakeUp } from '../../service/schedule/wake-ups.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { findReader } from '../../warehouse/database/source-lock.ts';
import { hasSettled, type Order, type OrderKind, readOrders } from '../../warehouse/ledgers/orders.ts';
import {
  type OrderProgress,
  type OrderWork,
  orderProgress,
  orderWork,
} from '../../warehouse/reports/order-progress.ts';
import { lagText, momentWithZone } from '../output/moments.ts';
import { createProgress, type Progress } from '../output/progress.ts';
import { isOpen, type OpenSource, type Session } from '../session/session.ts';
import { isServiceRunning, recognise } from '../session/source-settings.ts';
import { estimateText, estimateWork } from './estimate-work.ts';
import { openMigrated } from './pending-migrations.ts';
import { limitConnections, limitRequests, readSource } from './read-source.ts';

/** An order that has ended, with the work done for it while the command ran. */
export interface OrderResult {
  readonly order: Order;
  readonly work: OrderWork | undefined;
  /** Slices of its range, those proven since it was created, and what the others would cost. */
  readonly progress: OrderProgress;
}

export type ReadResult = Awaited<ReturnType<typeof readEach>>;

/**
 * The common part of sync, backfill and verify: migrates, then completes the orders at every source. Sources are read side by
 * side, as many as Postgres has connections for, so that none waits for another's request limit. A sync and a verification say
 * before what they cost.
 */
export async function readSources(
  session: Session,
  requests: readonly OrderRequest[],
  { wait, moved, maxRequests }: { wait: boolean; moved?: boolean; maxRequests?: number },
): Promise<ReadResult> {
  const { settings, terminal } = session;
  const sources = settings.sources.filter(isOpen);
  const database = await openMigrated(session);
  const atOnce = await limitConnections(database, sources.length);
  if (atOnce < sources.length)
    terminal.note(
      `Reading ${atOnce} of ${sources.length} sources at a time, because Postgres has no connections for more.`,
    );
  const limited = maxRequests === undefined ? undefined : limitRequests(maxRequests);
  const prepare = async (source: OpenSource) => {
    await recognise(database, source, moved);
    if (requests.some(({ kind }) => kind === 'backfill' || kind === 'refresh')) return;
    const estimate = await estimateWork(session, database, source, requests);
    const lag = requests.some(({ repair }) => repair) ? lagText(source.settings.lagMs) : '';
    const text = `${estimateText(estimate, source.timeZone, maxRequests)}${lag}`;
    terminal.note(sources.length > 1 ? `${source.name}: ${text}` : text);
  };
  return readEach(session, { database, sources, noWait: !wait, limited, atOnce, prepare }, requests);
}

/** Completes the orders at these sources. The error of a single one is thrown. */
export async function readEach(
  session: Session,
  given: Pick<Reading, 'database' | 'noWait' | 'limited'> & {
    readonly sources: readonly OpenSource[];
    readonly atOnce?: number;
    readonly prepare?: (source: OpenSource) => Promise<void>;
  },
  requests: readonly OrderRequest[],
) {
  const { sources, atOnce = 1, prepare, ...common } = given;
  const hasSeveral = sources.length > 1;
  const inTurn = pLimit(atOnce);
  const shown = createProgress(session);
  const reading = sources.map(async source => {
    await prepare?.(source);
    const progress = shown.of(hasSeveral ? source.name : null, source.timeZone);
    return completeOrders({ ...common, session, source, progress, inTurn }, requests);
  });
  const ended = await Promise.allSettled(reading).finally(() => shown.stop());
  const results: OrderResult[] = [];
  const failed: { source: string; error: SluiceError }[] = [];
  for (const [index, outcome] of ended.entries()) {
    if (outcome.status === 'fulfilled') results.push(...outcome.value);
    else if (hasSeveral && !session.signal.aborted && outcome.reason instanceof SluiceError)
      failed.push({ source: sources[index]?.name ?? '', error: outcome.reason });
    else throw outcome.reason;
  }
  return { results, failed };
}

interface Reading {
  readonly session: Session;
  readonly database: Database;
  readonly source: OpenSource;
  readonly noWait: boolean;
  /** Bounds the requests of this process further. */
  readonly limited?: ((budget: Budget) => Budget) | undefined;
  readonly progress: Progress;
  /** Limits how many sources are read at a time. A source that waits for its request limit lets the next one have its turn. */
  readonly inTurn: LimitFunction;
}

/**
 * How old an adopted order may be. A sync counts what was proven soon after it was created; whoever syncs now also wants the changes since then. A
 * refresh is of now.
 */
const MAY_BE_OLD_MS: Partial<Record<OrderKind, number>> = { sync: HOUR, refresh: 0 };

/**
 * Places the orders, or adopts equal open ones, and returns when all have ended. It reads the source itself if nobody else does;
 * otherwise it follows the process that does, and takes over when that process stops.
 */
export async function completeOrders(reading: Reading, requests: readonly OrderRequest[]): Promise<OrderResult[]> {
  const { database, source } = reading;
  const since = await databaseNow(database);
  const complete = async (wanted: readonly OrderRequest[]) => {
    const orders: Order[] = [];
    for (const request of wanted) orders.push(await placeOrder(database, source.name, request));
    await waitUntilEnded(reading, orders, since);
    return orders;
  };
  const placed = await complete(requests);

  const old = placed.filter(
    ({ kind, createdAt }) => createdAt < since - (MAY_BE_OLD_MS[kind] ?? Number.POSITIVE_INFINITY),
  );
  const ended = await readOrders(database.kysely, idsOf(old));
  const isStale = ({ resource }: OrderRequest) =>
    ended.some(order => order.resource === resource && order.state === 'done');
  const fresh = await complete(requests.filter(isStale));

  const last = idsOf(placed.map(order => fresh.find(other => other.resource === order.resource) ?? order));
  const work = await orderWork(database.kysely, last, since);
  const results: OrderResult[] = [];
  for (const order of await readOrders(database.kysely, last)) {
    const progress = await orderProgress(database.kysely, order.id);
    results.push({ order, work: work.find(each => each.orderId === order.id), progress });
  }
  return results;
}

const idsOf = (orders: readonly Order[]): string[] => orders.map(order => order.id);

async function waitUntilEnded(reading: Reading, orders: readonly Order[], since: number): Promise<void> {
  const { database, source, inTurn } = reading;
  const { terminal, clock, signal } = reading.session;
  const ids = idsOf(orders);
  if (ids.length === 0) return;
  let isReported = false;
  let hasRead = false;
  let lookAgainMs = LOOK_AGAIN_MS.first;
  for (;;) {
    if (signal.aborted) throw stopped(signal);
    const now = await readOrders(database.kysely, ids);
    if (now.every(hasSettled)) return;
    // The loop returned early to give another source its turn, because the request limit holds this one up for over a minute.
    if (hasRead) await clock.sleep(MINUTE, signal);
    hasRead = await inTurn(() => readOrdersHere(reading, ids));
    if (hasRead) continue;
    const reader = isReported ? null : await findReader(database, source.name);
    if (reader) {
      const name = reader.command ? `sluice ${reader.command}` : 'the service';
      terminal.note(`Another process is reading this source (${name}); following its progress.`);
      isReported = true;
      await wakeUp(database, source.name);
    }
    await follow(reading, now, since);
    await clock.sleep(lookAgainMs, signal);
    lookAgainMs = Math.min(2 * lookAgainMs, LOOK_AGAIN_MS.last);
  }
}

/** The pauses of who follows another process: a few rows are read within a second, and a list within minutes. */
const LOOK_AGAIN_MS = { first: 100, last: SECOND };

/** A service may start or stop while a command reads; its schedule waits at most this long to be picked up. */
const LOOK_FOR_SERVICE_MS = 10 * SECOND;

/** Reads until nothing is due or another source gets its turn. False if another process reads this source, or has moved a cursor. */
async function readOrdersHere(reading: Reading, ids: readonly string[]): Promise<boolean> {
  const { session, database, source, progress, inTurn } = reading;
  const { clock, command, signal } = session;
  if (signal.aborted) throw stopped(signal);
  const serves = {
    orders: (order: Order) => ids.includes(order.id),
    // What the schedule of a running service asks for is read too.
    slots: await isServiceRunning(database, source.name),
    get yields() {
      return inTurn.pendingCount > 0;
    },
  };
  const stopLooking = runBeside(async over => {
    while (!over.aborted) {
      await clock.sleep(LOOK_FOR_SERVICE_MS, over).catch(() => undefined);
      // If the database is out of reach, the reading itself reports it.
      if (!over.aborted) serves.slots = await isServiceRunning(database, source.name).catch(() => serves.slots);
    }
  });
  // Without a word: the progress of the schedule is in the log of the service.
  const onEvent = (event: LoopEvent) => {
    if (!('task' in event) || event.task.orderId !== null) progress.onEvent(event);
  };
  return readSource(session, { ...reading, command, onEvent }, serves).finally(stopLooking);
}

async function follow(reading: Reading, orders: readonly Order[], since: number): Promise<void> {
  const { progress, source } = reading;
  const work = await orderWork(reading.database.kysely, idsOf(orders), since);
  for (const { orderId, rowsRead, requests, waitingUntil } of work) {
    const order = orders.find(each => each.id === orderId);
    if (!order || (order.state !== 'waiting' && order.state !== 'running')) continue;
    progress.update({ resource: order.resource, rows: rowsRead, requests, share: null });
    if (waitingUntil === null) continue;
    progress.waiting(waitingUntil);
    if (!reading.noWait) continue;
    const until = momentWithZone(waitingUntil, source.timeZone);
    throw new SluiceError('quota', `The request limit is used up until ${until}.`, {
      next: 'The other process continues then. To follow it, run the command without --no-wait.',
    });
  }
}
