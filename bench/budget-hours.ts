import { setTimeout as delay } from 'node:timers/promises';
import { openSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import type { Variants } from '../sandbox/variants/variants.ts';
import { createLedger } from '../src/budget/ledger/ledger.ts';
import { type Clock, HOUR, MINUTE, SECOND } from '../src/clock.ts';
import { runLoop } from '../src/engine/run/loop.ts';
import { isKind } from '../src/errors.ts';
import { createLog } from '../src/log.ts';
import { openClient } from '../src/source/client.ts';
import { type Database, openDatabase } from '../src/warehouse/database/database.ts';
import { createOrder } from '../src/warehouse/ledgers/orders.ts';
import { recordSlot } from '../src/warehouse/ledgers/slots.ts';
import { type Server, withClone } from '../test/simulation/play/server.ts';
import { openEngine } from '../test/support/source.ts';
import { createVirtualClock } from '../test/support/virtual-clock.ts';
import { CONCURRENCY, type Figures, figuresOf, PROCESSES } from './budget-figures.ts';
import { createWishes, type Wishes } from './budget-wishes.ts';

const LIMIT = 1000;
const WINDOW_MS = HOUR;
const TIMEOUT_MS = 30 * SECOND;
const TICK_MS = 15 * MINUTE;
/** How late timers fire on a busy machine. A pace measured from the last request would lose this much on each. */
const LATE_MS = 20;

const log = createLog({ level: 'silent' });

/**
 * Runs one engine with an endless backfill and its schedule, and three clients on the same key that request without end, for
 * `hours` on an injected clock. The share leaves out the first hour, which begins with a burst.
 */
export function saturateForHours(server: Server, window: Variants['rate-window'], hours: number): Promise<Figures> {
  return withClone(server, async url => {
    const open = () => openDatabase({ url, applicationName: 'bench', log, max: 8 });
    const databases = await Promise.all(Array.from({ length: PROCESSES }, open));
    const [database, ...rest] = databases as [Database, ...Database[]];
    const wishes = createWishes();
    const busy = () => wishes.underWay.size > 0 || databases.some(({ pool }) => pool.totalCount > pool.idleCount);
    const clock = await createVirtualClock(database, undefined, { quietMs: 1, busy });
    const late: Clock = { ...clock, sleep: (ms, signal) => clock.sleep(ms + LATE_MS, signal) };
    const sandbox = await openSandbox({
      size: { customers: 500, invoices: 2000, transactions: 400_000 },
      rateLimit: LIMIT,
      rateWindowMs: WINDOW_MS,
      clock,
      variants: { 'rate-window': window },
      logRequests: 2 * LIMIT * hours,
    });
    const over = new AbortController();
    try {
      const fromMs = clock.now();
      const work = [
        serve(database, sandbox, late, wishes, over.signal),
        ...rest.map((each, index) => takeAll(each, `other ${index + 1}`, sandbox, late, wishes, over.signal)),
        tick(database, clock, wishes, over.signal),
        holdBack(clock, busy, over.signal),
      ];
      await Promise.race([clock.sleep(hours * HOUR), ...work]);
      const toMs = clock.now();
      over.abort();
      const { requests, ticks } = wishes.passed();
      await Promise.all(work);
      return {
        ...figuresOf(sandbox, { limit: LIMIT, windowMs: WINDOW_MS, fromMs: fromMs + HOUR, toMs }),
        wasted: [],
        passed: requests,
        passedTicks: ticks,
      };
    } finally {
      over.abort();
      await sandbox.close();
      for (const each of databases) await each.close();
    }
  });
}

/** Does what `sluice start` does: live slots on schedule, the rest of the limit for the backfill. */
async function serve(
  database: Database,
  sandbox: Sandbox,
  clock: Clock,
  wishes: Wishes,
  signal: AbortSignal,
): Promise<void> {
  const engine = await openEngine(database, sandbox, {
    clock,
    limit: LIMIT,
    windowMs: WINDOW_MS,
    concurrency: CONCURRENCY,
    wrapBudget: ledger => wishes.wrapBudget(ledger),
  });
  const watched = { ...engine, client: wishes.wrapClient(engine.client) };
  try {
    while (!signal.aborted) {
      await createOrder(database.kysely, { source: 'main', resource: 'transactions', kind: 'backfill' });
      await runLoop(watched, { orders: () => true, slots: true }, signal);
    }
  } catch (error) {
    if (!isKind(error, 'stopped')) throw error;
  } finally {
    await engine.close();
  }
}

/** Another process on the key, which requests pages on the backfill lane without end. */
async function takeAll(
  database: Database,
  source: string,
  sandbox: Sandbox,
  clock: Clock,
  wishes: Wishes,
  signal: AbortSignal,
): Promise<void> {
  const { url, apiKey } = sandbox;
  const ledger = createLedger({
    database,
    source,
    apiKey,
    limit: LIMIT,
    windowMs: WINDOW_MS,
    timeoutMs: TIMEOUT_MS,
  });
  const client = openClient({
    url,
    apiKey,
    auth: 'bearer',
    budget: wishes.wrapBudget(ledger),
    concurrency: CONCURRENCY,
    timeoutMs: TIMEOUT_MS,
    windowMs: WINDOW_MS,
    clock,
  });
  const read = async () => {
    for (let page = 1; !signal.aborted; page++)
      await client.list('/api/v2/customers', {}, { page, limit: 20 }, { lane: 'backfill', purpose: source, signal });
  };
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, read));
  } catch (error) {
    if (!isKind(error, 'stopped')) throw error;
  } finally {
    await client.close();
  }
}

async function tick(database: Database, clock: Clock, wishes: Wishes, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(TICK_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    wishes.tick();
    for (const resource of ['customers', 'invoices', 'transactions'])
      await recordSlot(database.kysely, 'main', resource, new Date(clock.now()));
  }
}

/** Adds a short sleeper while work is in progress: after a second without a wake-up the clock moves to it, not minutes ahead. */
async function holdBack(clock: Clock, busy: () => boolean, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (busy()) await clock.sleep(LATE_MS, signal).catch(() => undefined);
    else await delay(5);
  }
}
