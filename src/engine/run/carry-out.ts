import { MINUTE } from '../../clock.ts';
import { SluiceError } from '../../errors.ts';
import { failEndedRun, setRunWaiting } from '../../warehouse/ledgers/runs.ts';
import { writeTrait } from '../../warehouse/ledgers/traits.ts';
import { forgetLackedBy, listMissing } from '../../warehouse/rows/missing-rows.ts';
import { single } from '../agenda/choice.ts';
import type { Pace } from '../agenda/pace.ts';
import { announceRewrites } from '../changes/announce-rewrites.ts';
import { lackedByCover } from '../conclude/claims.ts';
import { countStored } from '../conclude/settle-missing.ts';
import { type Accounted, countedBy, hiddenRows } from '../coverage/hidden-rows.ts';
import { dueAfterFailure } from '../coverage/prove.ts';
import { isUnreliable } from '../profile/counts.ts';
import type { Observation } from '../profile/observation.ts';
import { withObservation } from '../profile/source-profile.ts';
import { adopt, placeOf, type Resource } from '../resource.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import { failList, type Task, update } from '../task/task.ts';
import { type Agenda, type Asked, forgetAttempts, noteAttempt, rest } from './agenda.ts';
import type { Engine, Loop, Serves } from './engine.ts';
import { lookAtLimit } from './limit-seen.ts';
import { readingTasks } from './long-wait.ts';
import { doubtOf, isAbsent } from './next/task-act.ts';
import { launchReading } from './readings/launch-reading.ts';
import type { Act } from './state.ts';
import { cutList, pointedTo } from './tasks/cut-list.ts';
import { endTask } from './tasks/end-task.ts';

/** A list that makes so many questions in a row fail does not answer. */
const MOST_FAILING = 3;
/** An answer is not older than that if it came while they failed. */
const WHILE_FAILING_MS = MINUTE;
const MAY_LAG = 'answers may not show the latest changes yet (SOURCE_LAG_SECONDS)';

/** Does what was decided. An error in the work for one list fails that list alone; throws one that stops the whole source. */
export async function carryOut(
  loop: Loop,
  serves: Serves,
  act: Exclude<Act, { kind: 'wait' }>,
  now: number,
): Promise<void> {
  switch (act.kind) {
    case 'share':
      for (const [task, share] of act.shares) update(task, { kind: 'share taken', share });
      return;
    case 'give way':
      for (const { stopAsking } of act.readings)
        stopAsking.abort(new SluiceError('stopped', 'A live reading goes first.'));
      return;
    case 'look at the limit':
      loop.limit = await lookAtLimit(loop.engine, now);
      return;
    case 'follow up':
      return forList(loop, act.asked.task, () => followUp(loop, act.asked, now));
    default:
      return forList(loop, act.task, () => carryOutFor(loop, serves, act, now));
  }
}

type ForTask = Extract<Act, { task: Task }>;

async function carryOutFor(loop: Loop, serves: Serves, act: ForTask, now: number): Promise<void> {
  const { engine } = loop;
  const { task } = act;
  switch (act.kind) {
    case 'ask':
      return ask(loop, act, now);
    case 'end':
      if (isAbsent(task, now)) update(task, { kind: 'found absent' });
      return endTask(loop, task, serves);
    case 'fail':
      throw act.error;
    case 'answered':
      update(task, { kind: 'others answered' });
      return;
    case 'pause':
      update(task, { kind: 'paused', until: act.until });
      await setRunWaiting(engine.database.kysely, [task.runId], act.until - now, MAY_LAG);
      engine.onEvent?.({ kind: 'pausing', task, waitMs: act.until - now });
      return;
    case 'look for missing':
      await lookForMissing(loop, task.resource);
      return;
    case 'drop slices':
      update(task, { kind: 'slices dropped' });
      return dropSlices(loop, task.resource, act.slices);
    case 'cut anew':
      return cutAnew(loop, task.resource, now);
    case 'distrust':
      await learnOfList(loop, task, act.doubt);
      return;
    case 'recount':
      return recount(loop, serves, task, now);
  }
}

async function forList(loop: Loop, task: Task, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    failList(loop.engine, task, error);
    update(task, { kind: 'closed', why: 'broken' });
    if (task.kind !== 'agenda') return;
    // It is left to its next tick.
    loop.agenda?.tasks.delete(task.resource);
    await failLastRun(loop, task);
  }
}

/** Until its reading ends, a question of the agenda counts as the requests that it is expected to take. */
function ask(loop: Loop, { task, choice, cost, pace }: Extract<Act, { kind: 'ask' }>, now: number): void {
  const { agenda } = loop;
  if (!agenda || cost === undefined) return void launchReading(loop, task, choice, now);
  if (pace) keepPace(loop, agenda, pace);
  const { slice, asks } = choice;
  update(task, { kind: 'reopened', slices: [sliceText(slice)] });
  if (typeof asks === 'object') noteAttempt(agenda.memory, task.resource, asks.row, now);
  const asked: Asked = { task, slice };
  agenda.asking.set(asked, Math.max(Math.round(cost), 1));
  void launchReading(loop, task, choice, now).finally(() => {
    agenda.asking.delete(asked);
    agenda.ended.push(asked);
  });
}

export function keepPace({ engine }: Loop, agenda: Agenda, pace: Pace): void {
  agenda.memory.pace = pace;
  agenda.granted = engine.granted();
}

/**
 * A question of the agenda was asked. If it failed, the run of the last tick says so, and the slice is due: the next tick reads it again,
 * and fails if that still does. Until then, other slices of the list are asked for.
 */
async function followUp(loop: Loop, { task, slice }: Asked, now: number): Promise<void> {
  const { engine, committer, agenda } = loop;
  if (!agenda) return;
  agenda.ended.shift();
  const doubt = doubtOf(task);
  if (doubt) await learnOfList(loop, task, doubt);
  const { resource } = task;
  if (task.state.failure === null && task.counts.updated > 0) await announceRewrites(engine.database.kysely, task);
  const { failure, presence } = task.state;
  if (failure === null) {
    agenda.failing.delete(resource);
    // The list answers 404, and no other list tells whether its address is right.
    if (presence === 'unanswered') agenda.tasks.delete(resource);
    return;
  }
  const { kind, message: reason } = failure;
  await failLastRun(loop, task);
  // Beyond the loss limit, nothing is asked to delete more until the next tick.
  if (kind === 'fuse') return;
  // It was read and stored.
  if (kind === 'rewrite') return update(task, { kind: 'failure reported' });
  await committer.change(resource, () => dueAfterFailure(resource, slice, now, reason));
  const inARow = (agenda.failing.get(resource) ?? 0) + 1;
  agenda.failing.set(resource, inARow);
  if (kind === 'unavailable') rest(agenda, engine.resources, task, now - WHILE_FAILING_MS);
  if (inARow >= MOST_FAILING) agenda.tasks.delete(resource);
  update(task, { kind: 'failure reported' });
}

async function failLastRun({ engine }: Loop, task: Task): Promise<void> {
  const { failure } = task.state;
  if (failure === null) return;
  const { kind, message: reason, next } = failure;
  const isFirst = await failEndedRun(engine.database.kysely, task.runId, { reason, next, failure: kind });
  if (isFirst) engine.onEvent?.({ kind: 'ended', task, state: 'failed' });
}

/** The missing rows of a list, as of its last commit: with older ones, a task could end without confirming what has just gone missing. */
async function lookForMissing({ engine, agenda }: Loop, resource: Resource): Promise<void> {
  while (resource.holdsMissing && resource.missing === null) {
    const { cursor, strategy, table } = resource;
    const rows = await listMissing(engine.database.kysely, placeOf(resource), table, strategy);
    // Not kept if a commit came in between: they would be older than the coverage.
    if (resource.cursor === cursor) resource.missing = rows;
  }
  if (agenda) forgetAttempts(agenda.memory, resource);
}

const PARTITIONS = ['id', 'date', 'whole'] as const;

/** A row is deleted only when two correct readings lack it, and those of another partition assumed the wrong order. */
async function dropSlices({ committer }: Loop, resource: Resource, slices: readonly Slice[]): Promise<void> {
  const kinds = PARTITIONS.filter(kind => kind !== resource.strategy.partition);
  await committer.change(
    resource,
    () => ({ removed: slices }),
    tx => forgetLackedBy(tx, placeOf(resource), kinds),
  );
  resource.missing = null;
}

async function cutAnew(loop: Loop, resource: Resource, now: number): Promise<void> {
  const { engine, committer, agenda } = loop;
  agenda?.memory.cutAt.set(resource.name, now);
  if (resource.dates === undefined) return;
  await lookForMissing(loop, resource);
  const cut = await cutList(engine, resource, now, { pointedTo: pointedTo(loop, resource) });
  if (cut !== null) await committer.change(resource, cut);
}

/** Stores what a whole task showed of a list. From now on the list is read accordingly. */
async function storeTrait({ database, source }: Engine, resource: Resource, observation: Observation): Promise<void> {
  await writeTrait(database.kysely, source, { resource: resource.name, ...observation });
  adopt(resource, withObservation(resource.profile, observation));
}

/** Stores a trait. Whether it changes what the task has to read: where counts are no longer used, all that did not add up. */
async function learnOfList(loop: Loop, task: Task, observation: Observation): Promise<boolean> {
  const { engine } = loop;
  const { resource } = task;
  const { trait, value, evidence } = observation;
  // The others have read the same answers.
  if (trait === 'counts')
    for (const each of readingTasks(loop)) if (each.resource === resource) update(each, { kind: 'counts judged' });
  await storeTrait(engine, resource, observation);
  if (trait !== 'counts' || !isUnreliable(value)) return trait === 'undated';
  resource.total = null;
  engine.log.warn({ resource: resource.name, evidence }, 'the count of this list is wrong and no longer used');
  update(task, { kind: 'started over' });
  return true;
}

/** At the end of a task: does the source count rows that its windows did not show, or rows that all of them lack? What is due then is read before. */
async function recount(loop: Loop, serves: Serves, task: Task, now: number): Promise<void> {
  const { engine } = loop;
  const { resource } = task;
  const accounted = await accountedRows(engine, resource);
  const hidden = hiddenRows(resource, { ...task.state, since: task.since }, accounted);
  if (hidden === 'none') await endTask(loop, task, serves);
  else if (hidden === 'ask again')
    void launchReading(loop, task, { ...single(countedBy(resource)), asks: 'count' }, now);
  else if ('due' in hidden)
    await loop.committer.change(resource, () => ({ put: hidden.due.map(entry => ({ ...entry, dueSince: now })) }));
  else {
    let goesOn = false;
    for (const each of hidden) if (await learnOfList(loop, task, each)) goesOn = true;
    if (!goesOn) await endTask(loop, task, serves);
  }
}

async function accountedRows({ database }: Engine, resource: Resource): Promise<Accounted> {
  const missing = resource.missing ?? [];
  return {
    ...(await countStored(database.kysely, resource)),
    lackedByCover: lackedByCover(resource, missing),
    missing: missing.length,
  };
}
