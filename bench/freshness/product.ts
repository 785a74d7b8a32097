import { setTimeout as delay } from 'node:timers/promises';
import { openSandbox } from '../../sandbox/sandbox.ts';
import type { Budget } from '../../src/budget/budget.ts';
import { type Clock, HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import { newMemory } from '../../src/engine/run/agenda.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import { runLoop } from '../../src/engine/run/loop.ts';
import { isKind } from '../../src/errors.ts';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/warehouse/database/database.ts';
import { recordSlot } from '../../src/warehouse/ledgers/slots.ts';
import { openServer, withClone } from '../../test/simulation/play/server.ts';
import { openEngine } from '../../test/support/source.ts';
import { createVirtualClock } from '../../test/support/virtual-clock.ts';
import { createJudge } from './judge.ts';
import type { Plan } from './measure.ts';
import { judgeSince, recordShown } from './product/observe-warehouse.ts';
import { applyChange, fillSource } from './product/source-rows.ts';
import type { Measured } from './report.ts';
import { type Change, createStream } from './stream/stream.ts';

const TICK_MS = 15 * MINUTE;
/** How far the clock moves during work. It moves on after a second in any case. */
const HELD_MS = 100;

const log = createLog({ level: 'silent' });

/**
 * Lets Sluice itself read the stream: its engine against the sandbox over HTTP, with Postgres, on an injected clock, a slot for every
 * list each 15 minutes. `onHour` receives the hours since the start.
 */
export async function measureProduct(plan: Plan, onHour: (hour: number) => void = () => undefined): Promise<Measured> {
  const server = await openServer();
  try {
    return await withClone(server, url => play(url, plan, onHour));
  } finally {
    await server.close();
  }
}

async function play(url: string, { stream: options, run }: Plan, onHour: (hour: number) => void): Promise<Measured> {
  const { startMs, measuredFromMs, measuredToMs, endMs, requestsPerHour } = run;
  const database = await openDatabase({ url, applicationName: 'bench', log, max: 8 });
  const underWay = new Set<string>();
  const loop = { isRunning: false, sleepers: 0 };
  // A loop that runs and sleeps nowhere is at work, even between a response and its commit.
  const busy = () => underWay.size > 0 || (loop.isRunning && loop.sleepers === 0);
  const clock = await createVirtualClock(database, new Date(startMs).toISOString(), { quietMs: 1, busy });
  const size = { customers: 0, invoices: 0, transactions: 0 };
  const sandbox = await openSandbox({ size, clock, rateLimit: requestsPerHour, logRequests: 0 });
  const stream = createStream(options);
  fillSource(sandbox.data, stream);
  await recordShown(database);

  // The warehouse deletes only what it has confirmed, so one deletion counts.
  const judge = createJudge({ customers: 1, invoices: 1, transactions: 1 }, run);
  const changes: Change[] = [];
  let requests = 0;
  /** Nobody can see a change before the next request, so changes are made then. */
  const onGrants = (granted: number) => {
    const now = clock.now();
    if (now >= measuredFromMs && now < measuredToMs) requests += granted;
    for (const change of stream.advanceTo(now)) {
      applyChange(sandbox.data, change);
      changes.push(change);
    }
  };
  const wrapBudget = (budget: Budget) => observeGrants(budget, underWay, onGrants);
  const engine = await openEngine(database, sandbox, {
    clock: countSleepers(clock, loop),
    limit: requestsPerHour,
    wrapBudget,
  });
  const over = new AbortController();
  try {
    const serving = Promise.all([serve(engine, clock, loop, over.signal), holdBack(clock, busy, over.signal)]);
    for (let hour = 1; ; hour++) {
      await Promise.race([clock.sleep(startMs + hour * HOUR - clock.now()), serving]);
      await judgeSince(database, judge, () => changes.splice(0));
      onHour(hour);
      if (clock.now() >= endMs || (clock.now() >= measuredToMs && judge.pending === 0)) break;
    }
    over.abort();
    await serving;
    return { policy: 'Sluice', result: { outcomes: judge.outcomes(), requests, endMs: clock.now() } };
  } finally {
    over.abort();
    await engine.close();
    await sandbox.close();
    await database.close();
  }
}

/** Does what `sluice start` does: a slot of every list at each tick, read until nothing is due. */
async function serve(engine: Engine, clock: Clock, loop: LoopActivity, signal: AbortSignal): Promise<void> {
  const { database } = engine;
  const tick = async () => {
    while (!signal.aborted) {
      const at = Math.floor(clock.now() / TICK_MS) * TICK_MS;
      for (const { name } of engine.resources) await recordSlot(database.kysely, engine.source, name, new Date(at));
      await clock.sleep(at + TICK_MS - clock.now(), signal).catch(() => undefined);
    }
  };
  const memory = newMemory();
  const read = async () => {
    while (!signal.aborted) {
      loop.isRunning = true;
      await runLoop(
        engine,
        { orders: () => true, slots: true, agenda: memory, othersWait: () => false },
        signal,
      ).finally(() => {
        loop.isRunning = false;
      });
      await clock.sleep(SECOND, signal);
    }
  };
  const stopped = (error: unknown) => {
    if (!isKind(error, 'stopped')) throw error;
  };
  await Promise.all([tick(), read().catch(stopped)]);
}

interface LoopActivity {
  isRunning: boolean;
  sleepers: number;
}

function countSleepers(clock: Clock, loop: LoopActivity): Clock {
  return {
    ...clock,
    sleep(ms, signal) {
      loop.sleepers++;
      return clock.sleep(ms, signal).finally(() => {
        loop.sleepers--;
      });
    },
  };
}

/** Adds a short sleeper while work is in progress: after a second of work the clock moves to it, not to the next tick. */
async function holdBack(clock: Clock, busy: () => boolean, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (busy()) await clock.sleep(HELD_MS, signal).catch(() => undefined);
    else await delay(1);
  }
}

/** Calls `onGrants` before the granted requests are sent, and keeps those that are not answered yet in `underWay`. */
function observeGrants(budget: Budget, underWay: Set<string>, onGrants: (granted: number) => void): Budget {
  return {
    async take(lane, want) {
      const taken = await budget.take(lane, want);
      for (const { id } of taken.grants) underWay.add(id);
      onGrants(taken.grants.length);
      return taken;
    },
    settle: (grant, settlement) => budget.settle(grant, settlement).finally(() => underWay.delete(grant.id)),
    flush: () => budget.flush(),
    async release(grants) {
      for (const { id } of grants) underWay.delete(id);
      await budget.release(grants);
    },
  };
}
