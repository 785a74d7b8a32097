import { MINUTE } from '../../../clock.ts';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { failEndedRun } from '../../../warehouse/ledgers/runs.ts';
import { dueAfterFailure } from '../../coverage/prove.ts';
import type { Task } from '../../task/task.ts';
import { distrustCounts } from '../distrust-counts.ts';
import type { Loop } from '../engine.ts';
import { failList } from '../fail-list.ts';
import type { Agenda, Asked } from './agenda.ts';
import { rest } from './rest.ts';

/** A list that makes so many questions in a row fail does not answer. */
const MOST_FAILING = 3;
/** An answer is not older than that if it came while they failed. */
const LATELY_MS = MINUTE;

/**
 * A question of the agenda was asked. If it failed, the run of the last tick says so, and the slice is due: the next tick reads it again,
 * and fails if that still does. Until then, other slices of the list are asked for.
 */
export async function settle(loop: Loop, agenda: Agenda, { task, slice }: Asked): Promise<void> {
  const { engine, committer } = loop;
  await distrustCounts(engine, task);
  const { failure, resource } = task;
  if (failure === null) {
    agenda.failing.delete(resource);
    // The list answers 404, and no other list tells whether its address is right.
    if (task.unanswered) agenda.tasks.delete(resource);
    return;
  }
  const now = await databaseNow(engine.database);
  const { kind, message: reason } = failure;
  await failLastRun(loop, task);
  // Beyond the deletion limit, nothing is asked to delete more until the next tick.
  if (kind === 'fuse') return;
  await committer.change(resource, () => dueAfterFailure(resource, slice, now, reason));
  const inARow = (agenda.failing.get(resource) ?? 0) + 1;
  agenda.failing.set(resource, inARow);
  if (kind === 'unavailable') rest(loop, task, now - LATELY_MS);
  if (inARow >= MOST_FAILING) agenda.tasks.delete(resource);
  task.failure = null;
}

async function failLastRun({ engine }: Loop, task: Task): Promise<void> {
  if (task.failure === null) return;
  const { kind, message: reason, next } = task.failure;
  const isFirst = await failEndedRun(engine.database.kysely, task.runId, { reason, next, failure: kind });
  if (isFirst) engine.onEvent?.({ kind: 'ended', task, state: 'failed' });
}

/** Does what the agenda has to do for one list. If that fails, the list is left to its next tick. */
export async function forList(loop: Loop, agenda: Agenda, task: Task, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    failList(loop.engine, task, error);
    agenda.tasks.delete(task.resource);
    await failLastRun(loop, task);
  }
}
