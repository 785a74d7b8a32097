import { createRandom, mix } from '../../../sandbox/data/random.ts';
import { isRewrite } from '../../../sandbox/faults/bad-days.ts';
import { isListFault } from '../../../sandbox/faults/fault-kinds.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { SECOND } from '../../../src/clock.ts';
import { createLog } from '../../../src/log.ts';
import { type Database, openDatabase } from '../../../src/warehouse/database/database.ts';
import { ask } from '../../support/ask.ts';
import { JOBS, MAIN } from '../../support/resources.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { isHonest } from '../plan/choose-variants.ts';
import { type Action, faultOf, type Given, type Plan, planOf } from '../plan/plan.ts';
import { checkLog } from './change-log.ts';
import { beginning, checkRequests, comeToRest } from './come-to-rest.ts';
import { addCustomFields } from './custom-fields.ts';
import { declare } from './declare.ts';
import { watchLosses } from './losses.ts';
import { checkMasked } from './masked.ts';
import { checkAllEnded, placeOrders } from './orders.ts';
import type { Process } from './process.ts';
import { askQuestions } from './questions.ts';
import { checkAnnouncements, recordReplacements, watchRewrites } from './rewrites.ts';
import { needsSuccessor, serve } from './serve.ts';
import { type Server, withClone } from './server.ts';
import { change, changeTwice } from './source-changes.ts';
import { createWatch, recordDeletions, writesSeen } from './watch.ts';
import type { World } from './world.ts';

export interface Result {
  readonly plan: Plan;
  /** What did not hold; empty when everything did. */
  readonly problems: readonly string[];
  readonly requests: number;
  /** Processes that ended early. */
  readonly crashes: number;
  /** Changes in the log of which the moments were compared with when the source made them. */
  readonly dated: number;
  readonly ms: number;
}

/** Played one request at a time, virtual time stands still while anything happens, on a busy machine, too. */
const STEADY_MS = 10;
/** Without a request for so long in real time, a seed is stuck, however busy the machine is. */
const STANDSTILL_MS = 300 * SECOND;
/** Far more than any seed takes: what it should take is checked at its end. */
const MOST_REQUESTS = 10_000;

/** Plays a seed: the actions of its plan, then a source at rest, then everything that must hold. */
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
    const log = createLog({ level: 'silent' });
    const database = await openDatabase({ url, applicationName: 'simulation', log, max: 3 });
    const processes = new Set<Process>();
    const busy = () => [...processes].some(process => process.busy);
    const clock = await createVirtualClock(database, plan.startIso, {
      quietMs: given.sequential ? STEADY_MS : 1,
      busy,
    });
    const sandbox = await openSandbox({
      seed,
      size: plan.counts,
      rateLimit: plan.limit,
      rateWindowMs: plan.windowMs,
      clock,
      variants: plan.played,
      logRequests: 10_000,
      ...(plan.declares ? { addFields: addCustomFields } : {}),
    });
    const faults = [faultOf(plan), ...plan.actions.flatMap(action => action.faults.map(({ fault }) => fault))];
    const hides = faults.some(fault => isListFault(fault) && fault !== 'list-changes');
    await recordDeletions(database, '(select now from sluice.test_clock)');
    await recordReplacements(database, [...MAIN, ...plan.others]);
    const watch = createWatch(database, sandbox, [...MAIN, ...plan.others], !hides && isHonest(plan.variants));
    const random = createRandom(mix(seed, 0xd1ce));
    const problems: string[] = [];
    const world: World = {
      plan,
      url,
      database,
      sandbox,
      clock,
      watch,
      problems,
      processes,
      random,
      trace,
      edits: [],
      declaration: null,
      jobs: new Map(Object.entries(JOBS)),
      people: { email: new Set(), phone: new Set() },
      log: [],
      crashes: 0,
    };
    let dated = 0;
    let timer: NodeJS.Timeout | undefined;
    const standstill = new Promise<void>(resolve => {
      let seen = -1;
      timer = setInterval(() => {
        const { total } = sandbox.stats;
        const problem =
          total === seen
            ? `no request came for ${STANDSTILL_MS / SECOND} s`
            : total > MOST_REQUESTS
              ? `${total} requests did not bring the seed to its end`
              : null;
        seen = total;
        if (problem === null) return;
        problems.push(
          `${problem}; ${clock.sleepers} sleep, ${[...processes].filter(each => each.busy).length} of ${processes.size} processes are busy`,
          ...[...processes].map(process => `process: ${process.describe()}`),
          ['the last requests:', ...lastRequests(sandbox)].join('\n  '),
        );
        void sessionsOf(url)
          .then(sessions => problems.push(...sessions))
          .catch((error: unknown) => problems.push(String(error)))
          .finally(resolve);
      }, STANDSTILL_MS);
    });
    try {
      await Promise.race([play(world), standstill]);
      const isSteady = plan.actions.every(({ putBack, badDay }) => putBack === null && badDay === null);
      if (problems.length === 0)
        dated = await checkLog(world, { dates: !hides && isHonest(plan.variants) && isSteady });
      await atEnd(database, sandbox);
    } catch (error) {
      problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
    } finally {
      clearInterval(timer);
      for (const process of processes) await process.close();
      await watch.done();
      await sandbox.close();
      await database.close();
    }
    for (const line of lastRequests(sandbox)) trace(line);
    return {
      plan,
      problems: [...watch.problems, ...problems],
      requests: sandbox.stats.total,
      crashes: world.crashes,
      dated,
      ms: performance.now() - begun,
    };
  });
}

/** What each session of the database does: why a seed stands still. */
async function sessionsOf(url: string): Promise<string[]> {
  const rows = await ask(
    url,
    `select application_name, state, wait_event, left(regexp_replace(query, '\\s+', ' ', 'g'), 200) as query
      from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
  return rows.map(row => `session: ${JSON.stringify(row)}`);
}

async function play(world: World): Promise<void> {
  for (const [place, action] of world.plan.actions.entries()) {
    await act(world, action);
    if (world.problems.length === 0) await askQuestions(world, action, place);
    if (world.problems.length > 0) return;
  }
  await comeToRest(world);
  await checkMasked(world, 'all');
  await checkAnnouncements(world);
}

async function act(world: World, action: Action): Promise<void> {
  const { sandbox, clock, watch } = world;
  if (action.afterMs > 0) await clock.advance(action.afterMs);
  change(world, action.changes);
  if (action.changes > 0 && world.random.chance(0.5)) changeTwice(world);
  if (action.spent > 0) sandbox.spend(action.spent);
  const { redeclaration } = action;
  if (redeclaration?.atCommit === null) await declare(world, redeclaration.declaration);
  const begun = beginning(world);
  const watched = await watchBadDay(world, action);
  sandbox.setBadDay(action.badDay);
  const ids = await placeOrders(world, action);
  world.trace(`${action.kind} of ${action.resources.join(', ')}`);
  const crashes = [...action.crashes];
  // What was dated ahead when the clock was put back is dated anew.
  const datesAnew = world.plan.actions.some(({ putBack }) => putBack !== null);
  // So do migrations.
  const isAlone = !datesAnew && redeclaration === null;
  const before = action.kind === 'verify' && isAlone ? await writesSeen(world.database) : null;
  for (;;) {
    const crash = crashes.shift();
    const outcome = await serve(world, action, crash);
    if (!needsSuccessor(world, outcome, crash)) break;
  }
  sandbox.setBadDay(null);
  // The commit may not have come.
  if (redeclaration !== null && redeclaration.atCommit !== null) await declare(world, redeclaration.declaration);
  await watched();
  await checkAnnouncements(world);
  if (before !== null && (await writesSeen(world.database)) !== before) world.problems.push('a verify wrote rows');
  await watch.done();
  await watch.lookAtAll(`after ${action.kind}`);
  await checkAllEnded(world, ids, action.kind);
  await checkMasked(world, action.kind);
  checkRequests(world, begun, action.kind);
}

/** Returns the check at the end of the action. */
async function watchBadDay(world: World, { badDay, putBack }: Action): Promise<() => Promise<void>> {
  const isAsAlways = badDay === null || (isRewrite(badDay.kind) && putBack !== null);
  // While the clock is put back, nobody can tell what was replaced within a day.
  if (isAsAlways) return async () => undefined;
  return isRewrite(badDay.kind) ? watchRewrites(world, badDay) : watchLosses(world, badDay);
}

const lastRequests = ({ stats }: Sandbox): string[] =>
  stats.requests.slice(-40).map(({ at, path, status }) => `${new Date(at).toISOString()} ${status} ${path}`);
