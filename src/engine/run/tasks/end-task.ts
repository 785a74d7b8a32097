import { isKind, SluiceError, sentence } from '../../../errors.ts';
import type { Db } from '../../../warehouse/database/database.ts';
import { returnHints } from '../../../warehouse/ledgers/hints.ts';
import { setOrderState } from '../../../warehouse/ledgers/orders.ts';
import { endRun, failEndedRun } from '../../../warehouse/ledgers/runs.ts';
import { countUnread } from '../../agenda/affordable.ts';
import { wants } from '../../agenda/choice.ts';
import { announceRewrites } from '../../changes/announce-rewrites.ts';
import { lookAtHeld } from '../../changes/hold-losses.ts';
import { partition } from '../../coverage/list.ts';
import { placeOf } from '../../resource.ts';
import { type Entry, NOT_OFFERED } from '../../slices/coverage-entry.ts';
import { sliceText } from '../../slices/slice.ts';
import { failList, type Task, update } from '../../task/task.ts';
import { MOST_TRIES } from '../../task/task-state.ts';
import { rest } from '../agenda.ts';
import type { Loop } from '../engine.ts';
import { isIgnored } from './find-targets.ts';
import { removeTask } from './task-list.ts';

/**
 * Ends the run and the order of a task that has nothing left. With `slots`, an order that an outage ended stays open for the
 * service.
 */
export async function endTask(loop: Loop, task: Task, serves: { readonly slots: boolean }): Promise<void> {
  const { engine } = loop;
  const { kysely } = engine.database;
  removeTask(loop, task);
  const doubtful = failForDoubts(task);
  failForValues(task);
  const lookAt = async () => {
    await lookAtHeld(kysely, task);
    await announceRewrites(kysely, task);
  };
  await lookAt().catch((error: unknown) => failList(engine, task, error));
  const error = task.state.failure;
  const unread = error ? null : leftUnread(task);
  const state = error ? 'failed' : unread === null ? 'done' : 'stopped';
  const isAbsent = task.state.presence === 'absent';
  const { kind: failure, message: reason = isAbsent ? NOT_OFFERED : (unread ?? undefined), next } = error ?? {};
  await endRun(kysely, task.runId, { state, reason, next, failure, keepsSlot: unread !== null });
  if (task.orderId !== null) {
    const again = error ? serves.slots && isKind(error, 'unavailable') : mustBeReadOtherwise(task);
    await setOrderState(kysely, task.orderId, ['waiting', 'running'], again ? 'waiting' : error ? 'failed' : 'done', {
      reason: reason && next ? `${sentence(reason)} ${next}` : (reason ?? null),
      ...(task.kind === 'verify' ? { report: reportOf(task, doubtful) } : {}),
    });
  }
  rest(loop.agenda, engine.resources, task, task.since);
  handOnAllowance(loop, task);
  engine.onEvent?.({ kind: 'ended', task, state });
}

/** Fails a refresh that could not read the rows of a value in full, unless they are read in another way from now on. */
function failForValues(task: Task): void {
  const { kind, resource, state } = task;
  const unread = state.targets.find(slice => slice.by === 'value' && state.tries.has(sliceText(slice)));
  if (kind !== 'refresh' || unread === undefined || mustBeReadOtherwise(task)) return;
  const message = `${resource.name}: what the source answers for "${sliceText(unread)}" does not add up.`;
  update(task, { kind: 'failed', error: new SluiceError('failed', message, { next: 'What was read is kept.' }) });
}

/** The source ignored a filter by which a refresh has asked for its rows. */
const mustBeReadOtherwise = ({ kind, resource, state }: Task): boolean =>
  kind === 'refresh' && state.targets.some(target => isIgnored(resource, target));

/** Why a slot is not done: parts of the list were never read. The next slot goes on with them. */
function leftUnread({ kind, resource, state }: Task): string | null {
  const unread = kind === 'slot' && state.presence !== 'absent' ? countUnread(resource) : 0;
  if (unread === 0) return null;
  const why = state.closed === 'overtaken' ? 'a newer tick took over' : 'they cannot be read now';
  return `${unread} ${unread === 1 ? 'slice was' : 'slices were'} never read: ${why}. The next tick continues.`;
}

/** Fails the task if slices never added up in several readings, and returns them. */
function failForDoubts(task: Task): readonly Entry[] {
  const { resource, state } = task;
  const doubtful = partition(resource).filter(
    entry => wants(task, entry.slice) && (state.tries.get(sliceText(entry.slice)) ?? 0) >= MOST_TRIES,
  );
  if (!doubtful[0]) return [];
  const { slice, dueReason } = doubtful[0];
  const others = doubtful.length > 1 ? ` and ${doubtful.length - 1} more` : '';
  const why = dueReason ?? 'no reading covered it';
  const message = `${resource.name}: what the source answers for "${sliceText(slice)}"${others} does not add up (${why}).`;
  const next = 'What was read is kept; the next run reads these slices again.';
  update(task, { kind: 'failed', error: new SluiceError('failed', message, { next }) });
  return doubtful;
}

/** The report of `verify`. */
function reportOf(task: Task, doubtful: readonly Entry[]) {
  const { absent, different, shown, unreadable, extra } = task.findings;
  const parts = task.state.presence === 'absent' ? [] : partition(task.resource);
  const unproven = parts.filter(
    entry => wants(task, entry.slice) && (entry.provenAt === null || doubtful.includes(entry)),
  );
  return {
    absent: [...absent],
    different: [...different],
    // A row that moved is lacking in one slice and shown by another.
    extra: [...extra].filter(key => !different.has(key) && !shown.has(key)),
    unreadable: [...unreadable],
    unproven: unproven.map(entry => sliceText(entry.slice)),
  };
}

/** Shares the remaining allowance among the other syncs. */
function handOnAllowance(loop: Loop, task: Task): void {
  const { allowance } = task.state;
  const others = loop.tasks.filter(each => each.kind === 'sync');
  if (task.kind === 'sync' && allowance > 0)
    for (const other of others) update(other, { kind: 'allowance left', requests: allowance / others.length });
}

/** Returns the targets that were not read to the stored hints. */
export async function leaveTargets(db: Db, { resource, state: { targets } }: Task): Promise<void> {
  if (targets.length > 0) await returnHints(db, placeOf(resource), targets);
}

/**
 * Ends all runs with the error that stopped the loop. Orders stay open if the next process can continue from the last commit.
 */
export async function leaveTasks(loop: Loop, error: unknown, serves: { readonly slots: boolean }): Promise<void> {
  const { engine } = loop;
  const { kysely } = engine.database;
  const kept = isKind(error, 'stopped', 'quota', 'stale', 'database');
  const message = error instanceof Error ? error.message : String(error);
  const next = isKind(error, 'unauthorized', 'configuration', 'database') ? error.next : undefined;
  // A key that is rejected is not tried again before the next tick.
  if (isKind(error, 'unauthorized', 'configuration'))
    for (const { runId } of loop.agenda?.tasks.values() ?? [])
      await failEndedRun(kysely, runId, { reason: message, next, failure: error.kind });
  for (const task of loop.tasks) {
    engine.onEvent?.({ kind: 'ended', task, state: kept ? 'stopped' : 'failed' });
    try {
      await endRun(kysely, task.runId, {
        state: isKind(error, 'stopped', 'quota', 'stale') ? 'stopped' : 'failed',
        reason: message,
        next,
        failure: error instanceof SluiceError ? error.kind : undefined,
      });
      await leaveTargets(kysely, task);
      if (task.orderId === null) continue;
      if (kept) await setOrderState(kysely, task.orderId, ['running'], 'waiting');
      else {
        // The key and the address can be corrected while the service runs.
        const again = serves.slots && isKind(error, 'unauthorized', 'configuration');
        const state = again ? 'waiting' : 'failed';
        await setOrderState(kysely, task.orderId, ['waiting', 'running'], state, { reason: message });
      }
    } catch (cause) {
      // If the database failed, the next holder of the lock ends these runs.
      engine.log.debug({ reason: String(cause) }, 'could not record the end of a run');
    }
  }
}
