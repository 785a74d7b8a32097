import type { LimitFunction } from 'p-limit';
import { withAnySignal } from '../../any-signal.ts';
import type { Budget } from '../../budget/budget.ts';
import { HOUR, MINUTE, SECOND, stopped } from '../../clock.ts';
import type { Engine, LoopEvent, Serves } from '../../engine/run/engine.ts';
import { runLoop } from '../../engine/run/loop.ts';
import { openEngine } from '../../engine/run/open-engine.ts';
import { SluiceError } from '../../errors.ts';
import { type OrderRequest, placeOrder } from '../../service/orders/order-requests.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { acquireSourceLock, findReader, type SourceLock } from '../../warehouse/database/source-lock.ts';
import { type Order, readOrders } from '../../warehouse/ledgers/orders.ts';
import {
  type OrderProgress,
  type OrderWork,
  orderProgress,
  orderWork,
} from '../../warehouse/reports/order-progress.ts';
import { momentWithZone } from '../output/moments.ts';
import type { Progress } from '../output/progress.ts';
import type { Session } from '../session/session.ts';
import { agendaRules, jobsOf, type OpenSource, openLedger } from '../session/source-settings.ts';

/** A service may start or stop while a command reads; its schedule waits at most this long to be picked up. */
const LOOK_FOR_SERVICE_MS = 10 * SECOND;

/** An order that has ended, with the work done for it while the command ran. */
export interface OrderResult {
  readonly order: Order;
  readonly work: OrderWork | undefined;
  /** Slices of its range, those proven since it was created, and what the others would cost. */
  readonly progress: OrderProgress;
}

interface Reading extends Pick<Session, 'terminal' | 'command' | 'clock' | 'signal'> {
  readonly database: Database;
  /** The source's name in the bookkeeping. */
  readonly source: string;
  readonly timeZone: string;
  readonly noWait: boolean;
  readonly progress: Progress;
  /** Limits how many sources are read at a time. A source that waits for its request limit lets the next one have its turn. */
  readonly inTurn: LimitFunction;
  /** Whether a service runs for this source. If so, the command also reads what its schedule asks for. */
  readonly isServiceRunning: () => Promise<boolean>;
  readonly openEngine: () => Promise<OpenEngine>;
}

/**
 * Places the orders, or adopts equal open ones, and returns when all have ended. It reads the source itself if nobody else does;
 * otherwise it follows the process that does, and takes over when that process stops.
 */
export async function completeOrders(reading: Reading, requests: readonly OrderRequest[]): Promise<OrderResult[]> {
  const { database, source } = reading;
  const since = await databaseNow(database);
  const complete = async (wanted: readonly OrderRequest[]) => {
    const orders: Order[] = [];
    for (const request of wanted) orders.push(await placeOrder(database, source, request));
    await waitUntilEnded(reading, orders, since);
    return orders;
  };
  const placed = await complete(requests);

  // An adopted sync counts what was proven soon after it was created; whoever syncs now also wants the changes since then.
  const old = placed.filter(order => order.kind === 'sync' && order.createdAt < since - HOUR);
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
  const { terminal, clock, signal, database, inTurn } = reading;
  const ids = idsOf(orders);
  if (ids.length === 0) return;
  let isReported = false;
  let hasRead = false;
  for (;;) {
    if (signal.aborted) throw stopped(signal);
    const now = await readOrders(database.kysely, ids);
    // An order that waits with a reason has failed; the service retries it.
    if (now.every(({ state, reason }) => state !== 'running' && (state !== 'waiting' || reason !== null))) return;
    // The loop returned early to give another source its turn, because the request limit holds this one up for over a minute.
    if (hasRead) await clock.sleep(MINUTE, signal);
    hasRead = await inTurn(() => readOrdersHere(reading, ids));
    if (hasRead) continue;
    if (!isReported) {
      const reader = await findReader(database, reading.source);
      const name = reader ? ` (${reader.command ? `sluice ${reader.command}` : 'the service'})` : '';
      terminal.note(`Another process is reading this source${name}; following its progress.`);
    }
    isReported = true;
    await follow(reading, now, since);
    await clock.sleep(SECOND, signal);
  }
}

/** Reads until nothing is due or another source gets its turn. False if another process reads this source. */
async function readOrdersHere(reading: Reading, ids: readonly string[]): Promise<boolean> {
  const { signal, inTurn } = reading;
  if (signal.aborted) throw stopped(signal);
  const serves = {
    orders: (order: Order) => ids.includes(order.id),
    slots: await reading.isServiceRunning(),
    get yields() {
      return inTurn.pendingCount > 0;
    },
  };
  const over = new AbortController();
  const looking = lookForService(reading, serves, over.signal);
  return readUnderLock(reading, () => serves).finally(() => {
    over.abort();
    return looking;
  });
}

/** Keeps `serves.slots` up to date until `over` aborts. */
async function lookForService(reading: Reading, serves: { slots: boolean }, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await reading.clock.sleep(LOOK_FOR_SERVICE_MS, over).catch(() => undefined);
    // If the database is out of reach, the reading itself reports it.
    if (!over.aborted) serves.slots = await reading.isServiceRunning().catch(() => serves.slots);
  }
}

async function follow(reading: Reading, orders: readonly Order[], since: number): Promise<void> {
  const { progress } = reading;
  const work = await orderWork(reading.database.kysely, idsOf(orders), since);
  for (const { orderId, rowsRead, requests, waitingUntil } of work) {
    const order = orders.find(each => each.id === orderId);
    if (!order || (order.state !== 'waiting' && order.state !== 'running')) continue;
    progress.update({ resource: order.resource, rows: rowsRead, requests, share: null });
    if (waitingUntil === null) continue;
    progress.waiting(waitingUntil);
    if (!reading.noWait) continue;
    const until = momentWithZone(waitingUntil, reading.timeZone);
    throw new SluiceError('quota', `The request limit is used up until ${until}.`, {
      next: 'The other process continues then. To follow it, run the command without --no-wait.',
    });
  }
}

type OpenEngine = Engine & { close(): Promise<void> };

/** Short beside the time that an answer takes, and long enough for several of a source without a limit. */
const GATHER_MS = 20;

/** The engine of one source as the settings describe it. */
export function openSourceEngine(
  { jobs, clock, log, settings: { retention } }: Pick<Session, 'jobs' | 'clock' | 'log' | 'settings'>,
  given: {
    database: Database;
    source: OpenSource;
    noWait: boolean;
    refusal?: SluiceError | null;
    /** Bounds the requests of this process further. */
    limited?: ((ledger: Budget) => Budget) | undefined;
    onEvent: (event: LoopEvent) => void;
  },
): Promise<OpenEngine> {
  const { database, source, noWait, refusal = null, limited, onEvent } = given;
  const { name, schema, settings } = source;
  const ledger = openLedger(database, name, settings);
  return openEngine({
    ...{ database, clock, log, retention, noWait, refusal, onEvent },
    ...settings,
    jobs: jobsOf(source, jobs),
    source: name,
    schema,
    gatherMs: GATHER_MS,
    ...agendaRules(source),
    budget: limited?.(ledger) ?? ledger,
    forecast: () => ledger.forecast(),
  });
}

/**
 * Runs the loop under the source's lock until nothing of what `servesUnder` names is due. Returns false at once if another process holds
 * the lock.
 */
export async function readUnderLock(
  reading: {
    database: Database;
    source: string;
    /** What others are told reads the source; null for a service. */
    command: string | null;
    signal: AbortSignal;
    openEngine(): Promise<OpenEngine>;
  },
  servesUnder: (lock: SourceLock) => Serves,
): Promise<boolean> {
  const lock = await acquireSourceLock(reading.database, reading.source, reading.command);
  if (!lock) return false;
  try {
    const engine = await reading.openEngine();
    try {
      await withAnySignal([reading.signal, lock.lost], ({ signal }) => runLoop(engine, servesUnder(lock), signal));
    } finally {
      await engine.close();
    }
  } finally {
    await lock.release();
  }
  return true;
}

/**
 * Caps the pool at this process's share of Postgres's connections and returns how many sources it may read at once. A process
 * takes at most three tenths of max_connections, so that three processes and some people fit: 200 sources with six connections
 * each were refused, and nothing was read. Each source read holds one connection for its lock, and a service one that listens; the rest
 * are held only during a query, so one more per source is enough.
 */
export async function limitConnections(database: Database, sources: number): Promise<number> {
  const { rows } = await database.query<{ most: number }>("select current_setting('max_connections')::int as most");
  const share = Math.max(Math.floor(0.3 * (rows[0]?.most ?? 0)), 8);
  const atOnce = Math.min(sources, Math.floor((share - 1) / 2));
  database.pool.options.max = Math.min(6 + 5 * atOnce, share - atOnce - 1);
  return atOnce;
}
