import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Budget } from '../../src/budget/budget.ts';
import { createLedger } from '../../src/budget/ledger/ledger.ts';
import { type Clock, HOUR, systemClock } from '../../src/clock.ts';
import type { Job } from '../../src/engine/job.ts';
import { type AgendaMemory, newMemory } from '../../src/engine/run/agenda.ts';
import type { Engine, LoopEvent } from '../../src/engine/run/engine.ts';
import { runLoop } from '../../src/engine/run/loop.ts';
import { openEngine as openProductEngine } from '../../src/engine/run/open-engine.ts';
import { createLog, type Log } from '../../src/log.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { createOrder, type Order, type OrderKind, readOrders } from '../../src/warehouse/ledgers/orders.ts';
import { recordSlot } from '../../src/warehouse/ledgers/slots.ts';
import { JOBS, MAIN, type TestResource } from './resources.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** The product's engine against a sandbox, as source `main`. */
export async function openEngine(
  database: Database,
  sandbox: Sandbox,
  options: {
    clock?: Clock;
    limit?: number;
    windowMs?: number;
    /** Default: the three large lists. */
    resources?: readonly TestResource[];
    /** Instead of `resources`. */
    jobs?: Readonly<Record<string, Job>>;
    concurrency?: number;
    /** Rows to ask for per page. Default `auto`. */
    pageSize?: number | 'auto';
    onEvent?: (event: LoopEvent) => void;
    noWait?: boolean;
    /** Real time for one attempt. Default 30 s. */
    timeoutMs?: number;
    /** How far an answer may lag behind the source. Default 0: rows that come and go at once are believed. */
    lagMs?: number;
    /** Wraps the ledger, for example to observe the requests. */
    wrapBudget?: (ledger: Budget) => Budget;
    /** Default: silent, unless `LOG_LEVEL` is set. */
    log?: Log;
  } = {},
): Promise<Engine & { close(): Promise<void> }> {
  const { clock = systemClock, limit = 1000, windowMs = HOUR, concurrency = 4, timeoutMs = 30_000 } = options;
  const { apiKey, url } = sandbox;
  const ledger = createLedger({
    ...{ database, source: 'main', apiKey, limit, windowMs, timeoutMs, clock },
    mayWait: true,
  });
  return openProductEngine({
    source: 'main',
    schema: 'warehouse',
    jobs: new Map(
      Object.entries(options.jobs ?? Object.fromEntries((options.resources ?? MAIN).map(name => [name, JOBS[name]]))),
    ),
    database,
    url,
    apiKey,
    auth: 'bearer',
    budget: options.wrapBudget?.(ledger) ?? ledger,
    forecast: () => ledger.forecast(),
    concurrency,
    timeoutMs,
    lagMs: options.lagMs ?? 0,
    limit,
    windowMs,
    pageSize: options.pageSize ?? 'auto',
    timeZone: 'UTC',
    noWait: options.noWait ?? false,
    // Whatever holds for large pages is tried with small ones.
    fewestKnown: 1,
    clock,
    log: options.log ?? createLog({ level: process.env.LOG_LEVEL ?? 'silent' }),
    ...(options.onEvent ? { onEvent: options.onEvent } : {}),
  });
}

/** As in reality, no two requests are granted at the same moment. */
export const oneGrantAtATime =
  (clock: VirtualClock) =>
  (ledger: Budget): Budget => ({
    ...ledger,
    take: (lane, want) => clock.advance(1).then(() => ledger.take(lane, want)),
  });

/**
 * Serves a tick of each list and, as a service does, asks between ticks: so many requests at least (default 0), and what its pace has saved;
 * without an agenda, none.
 */
export async function serveTick(engine: Engine, asks = 0, agenda: AgendaMemory | null = newMemory()): Promise<void> {
  const { database, source, resources, clock, granted } = engine;
  for (const { name } of resources) await recordSlot(database.kysely, source, name, new Date(clock.now()));
  const most = granted() + asks;
  const serves = { orders: () => true, slots: true, othersWait: () => granted() >= most, ...(agenda && { agenda }) };
  await runLoop(engine, serves, new AbortController().signal);
}

/** Creates an order of this kind for every resource of the engine, serves the orders, and returns them as they ended. */
export async function serveOrders(
  engine: Engine,
  kind: OrderKind,
  details: Partial<Pick<Order, 'repair' | 'whole' | 'acceptDeletes' | 'acceptLosses' | 'dateFrom' | 'dateTo'>> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Order[]> {
  const ids: string[] = [];
  for (const { name } of engine.resources) {
    ids.push(
      (await createOrder(engine.database.kysely, { source: engine.source, resource: name, kind, ...details })).id,
    );
  }
  await runLoop(engine, { orders: order => ids.includes(order.id), slots: false }, signal);
  return readOrders(engine.database.kysely, ids);
}
