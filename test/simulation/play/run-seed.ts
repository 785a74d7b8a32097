import { DAY, SECOND } from '../../../src/clock.ts';
import type { LoopEvent } from '../../../src/engine/run/engine.ts';
import { sliceText } from '../../../src/engine/slices/slice.ts';
import { isKind } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { createRandom, mix, type Random } from '../../../src/sandbox/data/random.ts';
import { isListFault } from '../../../src/sandbox/faults/fault-kinds.ts';
import { openSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Database, openDatabase } from '../../../src/warehouse/database/database.ts';
import { createOrder, readOrders } from '../../../src/warehouse/ledgers/orders.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { differences } from '../../support/compare.ts';
import { MAIN } from '../../support/resources.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { isHonest, mustTell } from '../plan/choose-variants.ts';
import type { Action, Crash, Given, Plan } from '../plan/plan.ts';
import { isHuge, planOf } from '../plan/plan.ts';
import { type Outcome, openProcess, type Process } from './process.ts';
import { type Server, withClone } from './server.ts';
import { createWatch, isTable, type Watch, writesSeen } from './watch.ts';

export interface Result {
  readonly plan: Plan;
  /** What did not hold; empty when all did. */
  readonly problems: readonly string[];
  readonly requests: number;
  readonly crashes: number;
  readonly ms: number;
}

const DATED: ReadonlySet<string> = new Set(['invoices', 'transactions']);

/** A seed that takes longer than this, by the wall clock, has come to a standstill. */
const STANDSTILL_MS = 600 * SECOND;
/** The others are one answer each. Two in a row that lack the same few rows are believed (docs/coverage.md), and here they would be in a row. */
const LARGE = new RegExp(`/(${MAIN.join('|')})\\b`);

interface World {
  readonly plan: Plan;
  readonly url: string;
  readonly database: Database;
  readonly sandbox: Sandbox;
  readonly clock: VirtualClock;
  readonly watch: Watch;
  readonly problems: string[];
  readonly processes: Set<Process>;
  /** What happens while the engine runs. Apart from the plan's, so that the plan stays the same whatever happens. */
  readonly random: Random;
  trace: (text: string) => void;
  crashes: number;
}

/** Plays a seed: what the plan says, then quiet, then everything that must hold. */
export async function runSeed(
  server: Server,
  seed: number,
  given: Given = {},
  trace: (text: string) => void = () => undefined,
  atEnd: (database: Database, sandbox: Sandbox) => Promise<void> = async () => undefined,
): Promise<Result> {
  const plan = planOf(seed, given);
  const begun = performance.now();
  return withClone(server, async url => {
    const log = createLog({ level: 'silent', secrets: [] });
    const database = await openDatabase({ url, applicationName: 'simulation', log, max: 3 });
    const processes = new Set<Process>();
    const busy = () => [...processes].some(process => process.busy);
    const clock = await createVirtualClock(database, plan.startIso, { quietMs: 1, busy });
    const sandbox = await openSandbox({
      seed,
      size: plan.counts,
      rateLimit: plan.limit,
      rateWindowMs: plan.windowMs,
      clock,
      variants: plan.variants,
      logRequests: 10_000,
    });
    const faults = [faultOf(plan), ...plan.actions.flatMap(action => action.faults.map(({ fault }) => fault))];
    const hides = faults.some(fault => isListFault(fault) && fault !== 'list-changes');
    const watch = createWatch(database, sandbox, [...MAIN, ...plan.others], !hides && isHonest(plan.variants));
    const random = createRandom(mix(seed, 0xd1ce));
    const problems: string[] = [];
    const world: World = { plan, url, database, sandbox, clock, watch, problems, processes, random, trace, crashes: 0 };
    let timer: NodeJS.Timeout | undefined;
    const standstill = new Promise<void>(resolve => {
      timer = setTimeout(() => {
        problems.push(`nothing came to an end within ${STANDSTILL_MS / SECOND} s`);
        resolve();
      }, STANDSTILL_MS);
    });
    try {
      await Promise.race([play(world), standstill]);
      await atEnd(database, sandbox);
    } catch (error) {
      problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
    } finally {
      clearTimeout(timer);
      for (const process of processes) await process.close();
      await watch.done();
      await sandbox.close();
      await database.close();
    }
    for (const { at, path, status } of sandbox.stats.requests.slice(-40))
      trace(`${new Date(at).toISOString()} ${status} ${path}`);
    return {
      plan,
      problems: [...watch.problems, ...problems],
      requests: sandbox.stats.total,
      crashes: world.crashes,
      ms: performance.now() - begun,
    };
  });
}

const faultOf = ({ variants }: Plan) => (variants.fault === 'none' ? undefined : variants.fault);

async function play(world: World): Promise<void> {
  for (const action of world.plan.actions) {
    await act(world, action);
    if (world.problems.length > 0) return;
  }
  await comeToRest(world);
}

async function act(world: World, action: Action): Promise<void> {
  const { sandbox, clock, watch } = world;
  if (action.afterMs > 0) await clock.advance(action.afterMs);
  change(world, action.changes);
  if (action.changes > 0 && world.random.chance(0.5)) changeTwice(sandbox, world.random);
  if (action.spent > 0) sandbox.spend(action.spent);
  const ids = await place(world, action);
  world.trace(`${action.kind} of ${action.resources.join(', ')}`);
  const crashes = [...action.crashes];
  const before = action.kind === 'verify' ? await writesSeen(world.database) : null;
  for (;;) {
    const crash = crashes.shift();
    const outcome = await serve(world, action, crash);
    if (!goesOn(world, outcome, crash)) break;
  }
  if (before !== null && (await writesSeen(world.database)) !== before) world.problems.push('a verify wrote rows');
  await watch.done();
  await watch.lookAtAll(`after ${action.kind}`);
  await allEnded(world, ids, action.kind);
}

/** Gives the orders, or records the slots; returns the orders. */
async function place(world: World, { kind, resources, range }: Action): Promise<string[]> {
  const { database, clock } = world;
  const ids: string[] = [];
  for (const resource of resources) {
    if (kind === 'slot') {
      await recordSlot(database.kysely, 'main', resource, new Date(clock.now()));
      continue;
    }
    const dates = kind === 'backfill' && DATED.has(resource) ? range : {};
    const order = { source: 'main', resource, kind: kind === 'repair' ? ('verify' as const) : kind };
    ids.push((await createOrder(database.kysely, { ...order, ...dates, repair: kind === 'repair' })).id);
  }
  return ids;
}

/** One process from its start to its end; a zombie goes on beside the next. */
async function serve(world: World, action: Action, crash: Crash | undefined): Promise<Outcome> {
  const { plan, url, sandbox, clock, watch, random, processes } = world;
  let commits = 0;
  const rivals: Promise<void>[] = [];
  let undead: () => void = () => undefined;
  const lockLost = new Promise<void>(resolve => {
    undead = resolve;
  });
  const onEvent = (event: LoopEvent, self: Process) => {
    if (event.kind !== 'committed') return;
    commits++;
    const { step, task } = event;
    const rows = `${step.rows.length} rows, ${task.counts.missing} missing, ${task.counts.deleted} deleted`;
    world.trace(
      `  ${task.kind} ${task.resource.name} ${sliceText(step.slice)}: ${rows}, ${JSON.stringify(step.end ?? 'goes on', bigints)}`,
    );
    watch.look();
    for (const planned of action.faults)
      if (planned.atCommit === commits)
        sandbox.failNext(planned.fault, planned.count, isListFault(planned.fault) ? LARGE : undefined);
    if (random.chance(action.changeChance)) change(world, random.int(1, 3));
    if (random.chance(action.changeChance * action.restoreChance)) restoreOne(sandbox, random);
    if (action.rival && commits === 1) rivals.push(rivalReads(world));
    if (crash?.kind === 'stop' && commits === crash.atCommit) self.stop();
    if (crash?.kind === 'zombie' && commits === crash.atCommit) void self.loseLock().then(undead);
  };
  const name = `process ${world.crashes + 1}`;
  const process = await open();
  processes.add(process);
  const close = async () => {
    await Promise.all(rivals);
    await process.close();
    processes.delete(process);
  };
  const running = process.run(action.kind === 'slot');
  const first = await Promise.race([running, lockLost]);
  if (first !== undefined) {
    await close();
    return first;
  }
  // The next process takes over while this one still believes to be alone.
  const [next, own] = await Promise.all([serve(world, action, undefined), running]);
  await close();
  world.crashes++;
  world.trace(`the zombie ended: ${textOf(own)}`);
  if (own.end === 'failed' && !isKind(own.error, 'stale')) world.problems.push(`a zombie ended with ${textOf(own)}`);
  return next;

  async function open(): Promise<Process> {
    // The session of a killed process ends a moment after it.
    for (let tries = 0; tries < 500; tries++) {
      const opened = await openProcess({ url, name, plan, sandbox, clock, crash, onEvent });
      if (opened) return opened;
      await new Promise(resolve => setTimeout(resolve, 2));
    }
    throw new Error('The lock of a process that is gone was not freed.');
  }
}

const bigints = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

/** Whoever comes second must not read while the first one has the lock. */
async function rivalReads(world: World): Promise<void> {
  const { plan, url, sandbox, clock } = world;
  try {
    const rival = await openProcess({
      url,
      name: 'rival',
      plan,
      sandbox,
      clock,
      crash: undefined,
      onEvent: () => undefined,
    });
    // The first may have ended meanwhile, or have lost its lock; only while it holds it is a rival a fault.
    if (rival) await rival.close();
  } catch (error) {
    world.problems.push(`a second process failed beside the first: ${String(error)}`);
  }
}

/** Whether a process that ended has to be followed by another. */
function goesOn(world: World, outcome: Outcome, crash: Crash | undefined): boolean {
  world.trace(`ended: ${textOf(outcome)}${crash ? ` (${crash.kind})` : ''}`);
  if (outcome.end === 'done') return false;
  world.crashes++;
  world.watch.look();
  if (outcome.end === 'killed') return true;
  if (outcome.end === 'failed' && crash?.kind === 'stop' && isKind(outcome.error, 'stopped')) return true;
  world.problems.push(`the loop ended with ${textOf(outcome)}`);
  return false;
}

function textOf(outcome: Outcome): string {
  if (outcome.end !== 'failed') return outcome.end;
  const { error } = outcome;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** An invoice is paid and given another date: it leaves two slices at once. */
function changeTwice(sandbox: Sandbox, random: Random): void {
  const open = [...sandbox.rows('invoices')].filter(row => row.status === 'Unpaid');
  if (open.length === 0) return;
  const date = `${random.int(2021, 2025)}-06-15`;
  sandbox.update('invoices', random.pick(open).id, { status: 'Paid', date });
}

function change({ sandbox, plan }: World, count: number): void {
  sandbox.changeRandom(count);
  if (plan.others.length > 0) sandbox.changeOthers(count);
}

function restoreOne(sandbox: Sandbox, random: Random): void {
  const removed = sandbox.changes.filter(change => change.kind.endsWith('-deleted'));
  if (removed.length === 0) return;
  const { resource, id } = random.pick(removed);
  sandbox.restore(resource, id);
}

/** Nothing is left running or waiting, and what failed says why. */
async function allEnded(world: World, ids: readonly string[], what: string): Promise<string[]> {
  const { database, problems } = world;
  const { rows } = await database.query<{ run: string }>(
    `select resource || ' ' || kind || ' ' || state as run from sluice.runs where ended_at is null
     or (state = 'failed' and reason is null)`,
  );
  for (const { run } of rows) problems.push(`after ${what}, a run has not ended well: ${run}`);
  const orders = await readOrders(database.kysely, ids);
  for (const order of orders)
    if (order.state !== 'done' && order.state !== 'failed')
      problems.push(`after ${what}, the order for ${order.resource} is ${order.state}`);
  return orders.map(order => (order.state === 'done' ? 'done' : (order.reason ?? order.state)));
}

/** The source is quiet now: a sync that can afford it, else a repair, leaves both equal; and another writes nothing. */
async function comeToRest(world: World): Promise<void> {
  const { plan, database, sandbox, clock, problems, watch } = world;
  // Lists that look healthy and are not would go on changing what is seen.
  sandbox.forgetFaults();
  // Of bodies that are too large two in a row end a request, which is told; every tenth is one, so that two may well meet.
  if (isListFault(faultOf(plan)) || isHuge(faultOf(plan))) sandbox.setVariants({ fault: 'none' });
  // A month that begins meanwhile would be one more row, which nobody has asked for yet.
  if (plan.others.includes('financial_summaries')) await clock.advance(restOfLastDay(sandbox.now()));
  const affordable = requestsForAll(plan) <= (plan.limit * 3_600_000) / plan.windowMs / 2;
  if (affordable) await endEqual(world, 'sync');
  if (problems.length > 0) return;
  if (!affordable || plan.repairs) {
    if (affordable) change(world, world.random.int(1, 12));
    await endEqual(world, 'repair');
  }
  if (problems.length > 0) return;

  if (!mustTell(plan.variants)) {
    const before = await writesSeen(database);
    await clock.advance(SECOND);
    const further = await finish(world, 'sync');
    if (further.some(state => state !== 'done') && !looksCut(further))
      problems.push(`a further sync ended ${further.join(' | ')}`);
    const after = await writesSeen(database);
    if (after !== before) problems.push(`a further sync wrote rows:\n${before}\nbecame\n${after}`);
  }

  await watch.done();
  const { maxInWindow, rejected, failures } = sandbox.stats;
  const alone = sandbox.variants['shared-key'] === 'no' && plan.actions.every(action => action.spent === 0);
  if (alone && maxInWindow > plan.limit) problems.push(`${maxInWindow} requests in a window of ${plan.limit}`);
  if (alone && rejected > 0) problems.push(`${rejected} requests were rejected with 429`);
  for (const failure of failures) problems.push(`the sandbox itself failed: ${String(failure)}`);
}

/** What is left of the last day of a month; 0 on any other day. */
function restOfLastDay(now: number): number {
  const date = new Date(now);
  const left = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) - now;
  return left <= DAY ? left : 0;
}

/** A list of just as many rows as sources are known to stop at, 10 at the least, cannot be told from one cut short; that is told. */
const looksCut = (states: readonly string[]): boolean =>
  states.some(state => /returned exactly \d{2,} rows and no further page/.test(state));

/** Where nobody could end equal, it is enough that it is told. */
async function endEqual(world: World, kind: 'sync' | 'repair'): Promise<void> {
  const { plan, database, sandbox, clock, problems } = world;
  await clock.advance(SECOND);
  const states = await finish(world, kind);
  world.trace(`at rest, ${kind}: ${states.join(' ')}`);
  const different = await differences(database, sandbox, 8, [...MAIN, ...plan.others]);
  if (looksCut(states)) return;
  const told = states.some(state => state !== 'done') || (await holdsUnproven(database));
  if (mustTell(plan.variants) && told) return;
  for (const each of different) problems.push(`after the last ${kind}: ${each}`);
  if (states.some(state => state !== 'done')) problems.push(`the last ${kind} ended ${states.join(' | ')}`);
}

async function holdsUnproven(database: Database): Promise<boolean> {
  const { rows } = await database.query(
    `select from sluice.coverage where proven_at is null and (slice = 'whole' or slice like 'date %' or slice like 'id %') limit 1`,
  );
  return rows.length > 0;
}

/** An upper bound of what a whole reading costs. */
function requestsForAll({ counts, others, variants, pageSize }: Plan): number {
  const most = variants['limit-max'] === 'ignored' || variants['limit-max'] === '20-reject' ? 20 : 100;
  const size = pageSize === 'auto' ? most : Math.min(pageSize, most);
  const months = others.includes('financial_summaries') ? 2 * 84 : 0;
  const rows = counts.customers + 2 * counts.invoices + counts.transactions + others.length * 50;
  return (2 * rows) / size + 50 + months + others.length * 6;
}

async function finish(world: World, kind: 'sync' | 'repair'): Promise<string[]> {
  const action: Action = {
    kind,
    resources: [...MAIN, ...world.plan.others],
    range: { dateFrom: null, dateTo: null },
    afterMs: 0,
    changes: 0,
    changeChance: 0,
    restoreChance: 0,
    faults: [],
    crashes: [],
    spent: 0,
    rival: false,
  };
  const states = await end(await place(world, action));
  const accepted = await acceptGone(world, states);
  return accepted.length === 0 ? states : [...states.filter(state => !HELD_BACK.test(state)), ...(await end(accepted))];

  async function end(ids: readonly string[]): Promise<string[]> {
    goesOn(world, await serve(world, action, undefined), undefined);
    return allEnded(world, ids, `the last ${kind}`);
  }
}

const HELD_BACK = /sluice sync (\w+) --accept-deletes (\d+)/;

/** A plan may delete more of a small list in a day than the fuse allows: whoever finds them gone at the source, too, accepts that. */
async function acceptGone({ database, sandbox }: World, states: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const state of states) {
    const [, resource, count] = HELD_BACK.exec(state) ?? [];
    if (resource === undefined || !isTable(resource)) continue;
    const { rows } = await database.query<{ key: string }>('select key from sluice.missing where resource = $1', [
      resource,
    ]);
    const here = new Set(Array.from(sandbox.rows(resource), row => String(row.id)));
    if (rows.some(({ key }) => here.has(key))) continue;
    const order = { source: 'main', resource, kind: 'sync', acceptDeletes: Number(count) } as const;
    ids.push((await createOrder(database.kysely, order)).id);
  }
  return ids;
}
