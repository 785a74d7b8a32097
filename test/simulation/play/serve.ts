import { Writable } from 'node:stream';
import { type Fault, isListFault } from '../../../sandbox/faults/fault-kinds.ts';
import type { LoopEvent } from '../../../src/engine/run/engine.ts';
import { sliceText } from '../../../src/engine/slices/slice.ts';
import { isKind } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { MAIN } from '../../support/resources.ts';
import type { Action, Crash } from '../plan/plan.ts';
import { declare, jobsRead } from './declare.ts';
import { type Outcome, openProcess, type Process } from './process.ts';
import { createReadingCheck } from './reading-cost.ts';
import { change, restoreOne } from './source-changes.ts';
import type { World } from './world.ts';

/**
 * The lists that a fault may hit. A small list is one answer, and two in a row that lack the same rows are believed
 * (docs/coverage.md), unless they lack more than half of it.
 */
const MAY_HIT_ANY: readonly Fault[] = ['empty-list', 'empty-list-zero'];
const LARGE = new RegExp(`/(${MAIN.join('|')})\\b`);
const listsHitBy = (fault: Fault) => (isListFault(fault) && !MAY_HIT_ANY.includes(fault) ? LARGE : undefined);

/** Runs one process from start to end. A zombie continues while the next process reads. */
export async function serve(world: World, action: Action, crash: Crash | undefined): Promise<Outcome> {
  const { plan, sandbox, clock, watch, random, processes } = world;
  let commits = 0;
  const beside: Promise<void>[] = [];
  const checkReading = createReadingCheck(plan);
  let undead: () => void = () => undefined;
  const lockLost = new Promise<void>(resolve => {
    undead = resolve;
  });
  const breakNext = () => {
    for (const { atCommit, fault, count } of action.faults)
      if (atCommit === commits) sandbox.failNext(fault, count, listsHitBy(fault));
  };
  breakNext();
  const onEvent = (event: LoopEvent, self: Process) => {
    if (event.kind !== 'committed') return;
    commits++;
    const { step, task } = event;
    const rows = `${step.rows.length} rows, ${step.known?.keys.length ?? 0} known, ${task.counts.missing} missing, ${task.counts.deleted} deleted`;
    world.trace(
      `  ${task.kind} ${task.resource.name} ${sliceText(step.slice)}: ${rows}, ${JSON.stringify(step.end ?? 'continues', bigints)}`,
    );
    watch.look();
    const overspent = checkReading(step);
    if (overspent !== null) world.problems.push(overspent);
    breakNext();
    if (random.chance(action.changeChance)) change(world, random.int(1, 3));
    if (random.chance(action.changeChance * action.restoreChance)) restoreOne(world);
    if (action.rival && commits === 1) beside.push(rivalReads(world));
    if (action.redeclaration?.atCommit === commits) beside.push(declareBeside(world, action));
    if (action.putBack?.atCommit === commits) beside.push(clock.putBack(action.putBack.ms));
    if (crash?.kind === 'stop' && commits === crash.atCommit) self.stop();
    if (crash?.kind === 'zombie' && commits === crash.atCommit) void self.loseLock().then(undead);
  };
  const name = `process ${world.crashes + 1}`;
  const process = await open();
  processes.add(process);
  const close = async () => {
    await Promise.all(beside);
    await process.close();
    processes.delete(process);
  };
  const running = process.run(action.kind === 'slot');
  const first = await Promise.race([running, lockLost]);
  if (first !== undefined) {
    await close();
    return first;
  }
  // The next process takes over while this one still believes that it holds the lock.
  const [next, own] = await Promise.all([serve(world, action, undefined), running]);
  await close();
  world.crashes++;
  world.trace(`the zombie ended: ${textOf(own)}`);
  if (own.end === 'failed' && !isKind(own.error, 'stale')) world.problems.push(`a zombie ended with ${textOf(own)}`);
  return next;

  async function open(): Promise<Process> {
    // Postgres ends the session of a killed process shortly after the process.
    for (let tries = 0; tries < 500; tries++) {
      const opened = await openProcess({ ...opening(world), name, crash, onEvent });
      if (opened) return opened;
      await new Promise(resolve => setTimeout(resolve, 2));
    }
    throw new Error('The lock of a dead process was not released.');
  }
}

const bigints = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

/** What every process is opened with. */
function opening(world: World) {
  const { url, plan, sandbox, clock, log: lines } = world;
  const given = { url, plan, sandbox, clock, jobs: Object.fromEntries(jobsRead(world)) };
  if (!plan.declares) return given;
  const destination = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line));
      done();
    },
  });
  return { ...given, log: createLog({ level: 'debug', destination }) };
}

/** Migrates beside the process that reads. */
async function declareBeside(world: World, { redeclaration }: Action): Promise<void> {
  try {
    if (redeclaration !== null) await declare(world, redeclaration.declaration);
  } catch (error) {
    world.problems.push(`a migration failed beside a process: ${String(error)}`);
  }
}

/** Tries to open a second process beside the first. */
async function rivalReads(world: World): Promise<void> {
  try {
    const rival = await openProcess({
      ...opening(world),
      name: 'rival',
      crash: undefined,
      onEvent: () => undefined,
    });
    // Getting the lock is no error: the first process may have ended or lost it meanwhile.
    if (rival) await rival.close();
  } catch (error) {
    world.problems.push(`a second process failed beside the first: ${String(error)}`);
  }
}

/** Notes how a process ended; whether another must follow it. */
export function needsSuccessor(world: World, outcome: Outcome, crash: Crash | undefined): boolean {
  world.trace(`ended: ${textOf(outcome)}${crash ? ` (${crash.kind})` : ''}`);
  if (outcome.end === 'done') return false;
  world.crashes++;
  world.watch.look();
  if (outcome.end === 'killed') return true;
  if (outcome.end === 'failed' && crash?.kind === 'stop' && isKind(outcome.error, 'stopped')) return true;
  // A migration that masks takes the lists from whoever reads them.
  if (outcome.end === 'failed' && world.plan.declares && isKind(outcome.error, 'stale')) return true;
  world.problems.push(`the loop ended with ${textOf(outcome)}`);
  return false;
}

function textOf(outcome: Outcome): string {
  if (outcome.end !== 'failed') return outcome.end;
  const { error } = outcome;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
