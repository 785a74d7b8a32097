import { rankOf } from '../../../budget/budget.ts';
import { SECOND } from '../../../clock.ts';
import { isTargeted } from '../../agenda/choice.ts';
import type { Resource } from '../../resource.ts';
import type { Task, UnderWay } from '../../task/task.ts';
import type { Act, State } from '../state.ts';
import { askOfItself } from './own-questions.ts';
import { shareLimit } from './share-limit.ts';
import { actFor, orFailure, placesFor, waitsForOtherLists } from './task-act.ts';

/** How the limit is shared comes before all; then tasks, by lane; else the best question of all lists, if the pace allows one. */
export function next(state: State): Act {
  const shares = shareLimit(state);
  if (shares) return shares;
  let wakeAt: number | null = null;
  const reserved: Reserved = new Map();
  for (const task of [...state.tasks].sort((a, b) => rank(a) - rank(b) || turnOf(a) - turnOf(b))) {
    if (state.running >= placesFor(state, task.lane)) break;
    if (rank(task) > (reserved.get(task.resource) ?? Number.POSITIVE_INFINITY)) continue;
    const act = orFailure(task, () => actFor(state, task));
    if (act === 'blocked') {
      const givesWay = reserve(state, task, reserved);
      if (givesWay) return givesWay;
    } else if (act.kind === 'pause' && task.state.pauses.has(act.until))
      wakeAt = Math.min(act.until, wakeAt ?? act.until);
    else return act;
  }
  const act = askOfItself(state);
  return act.kind === 'wait' ? { ...act, wakeAt } : act;
}

/** By list, the rank below which nothing starts there. */
type Reserved = Map<Resource, number>;

/** Until a live task of a list can continue, nothing on a lower lane starts there, and what is read there gives way; a backfill would always block it. */
function reserve(state: State, task: Task, reserved: Reserved): Act | null {
  const { lane, resource, underWay } = task;
  if (lane !== 'live' || resource.reading.size === 0 || waitsForOtherLists(task)) return null;
  // Those of its own rank may begin one after the other for long.
  const from = isTargeted(task) && underWay.size === 0 ? rank(task) - 1 : rank(task);
  reserved.set(resource, Math.min(from, reserved.get(resource) ?? Number.POSITIVE_INFINITY));
  const readings = below(state, task);
  return readings.length > 0 ? { kind: 'give way', readings } : null;
}

const rank = (task: Task): number => (isTargeted(task) ? -1 : rankOf(task.lane));

/** Of those that people wait for, one that has had many requests lets others go before: a row is read before the rest of a whole list. */
const SERVED_MS = SECOND / 2;
const turnOf = (task: Task): number => (isTargeted(task) ? task.since + task.counts.requests * SERVED_MS : 0);

/** Readings of the task's list on lower lanes that go on. */
const below = ({ tasks }: State, { resource, lane }: Task): UnderWay[] =>
  tasks
    .filter(other => other.resource === resource && rankOf(other.lane) > rankOf(lane))
    .flatMap(other => [...other.underWay].filter(({ stopAsking }) => !stopAsking.signal.aborted));
