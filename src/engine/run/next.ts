import { rankOf } from '../../budget/budget.ts';
import { STEPS } from '../../budget/forecast.ts';
import { HOUR, SECOND } from '../../clock.ts';
import { isAffordable, rereadCost } from '../agenda/affordable.ts';
import { isPause, MOST_PAGES, wants } from '../agenda/choice.ts';
import { monthsHold, summedLists } from '../agenda/closed-months.ts';
import { factsOf } from '../agenda/list-facts.ts';
import { refill, spend, startPace, waitFor } from '../agenda/pace.ts';
import { isKnownAbsent, plan } from '../agenda/plan.ts';
import { best, type Question, questionsOf } from '../agenda/questions.ts';
import { lackedByCover } from '../conclude/settle-missing.ts';
import { countsAfterCover, mayHideRows } from '../coverage/hidden-rows.ts';
import { oldestProof, partition, rowsProven } from '../coverage/list.ts';
import { doubtCounts } from '../profile/counts.ts';
import type { Observation } from '../profile/observation.ts';
import { isIdOrdered } from '../profile/strategy.ts';
import { listIsGone, othersAnswering } from '../read/fetch/absent-list.ts';
import type { Resource } from '../resource.ts';
import { dayIn } from '../slices/date-windows.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Share } from '../task/apply-event.ts';
import type { Task, UnderWay } from '../task/task.ts';
import { phaseOf, steadyMiscount } from '../task/task-state.ts';
import type { Agenda } from './agenda.ts';
import { freeFor, isSeenLately, paceRule } from './limit-seen.ts';
import type { Act, State } from './state.ts';

/** The loop looks again after this time where nothing can be asked now. */
const LATER_MS = 2 * SECOND;
/** Windows of a list are cut anew so often. */
const CUT_EVERY_MS = HOUR;

/** Tasks first, by lane; else the best question of all lists, if the pace allows one. */
export function next(state: State): Act {
  const shares = shareLimit(state);
  if (shares) return shares;
  let wakeAt: number | null = null;
  // Until a live task of a list can continue, nothing on a lower lane starts there; a backfill would always block it.
  const reserved = new Map<Resource, number>();
  for (const task of [...state.tasks].sort((a, b) => rank(a) - rank(b))) {
    if (state.running >= state.rules.concurrency + spareFor(state, task)) break;
    if (rank(task) > (reserved.get(task.resource) ?? Number.POSITIVE_INFINITY)) continue;
    const act = orFailure(task, () => actFor(state, task));
    if (act === 'blocked') {
      if (task.lane !== 'live' || task.resource.reading.size === 0 || waitsForOtherLists(task)) continue;
      reserved.set(task.resource, Math.min(rank(task), reserved.get(task.resource) ?? Number.POSITIVE_INFINITY));
      const readings = below(state, task);
      if (readings.length > 0) return { kind: 'give way', readings };
    } else if (act.kind === 'pause' && task.state.pauses.has(act.until))
      wakeAt = Math.min(act.until, wakeAt ?? act.until);
    else return act;
  }
  const act = askOfItself(state);
  return act.kind === 'wait' ? { ...act, wakeAt } : act;
}

const rank = (task: Task): number => (task.kind === 'hint' ? -1 : rankOf(task.lane));

/** One more for a live reading: those of a backfill hold theirs until their slices end. */
const spareFor = ({ tasks }: State, { lane }: Task): number =>
  lane === 'live' && tasks.some(other => other.lane !== 'live' && other.underWay.size > 0) ? 1 : 0;

/** Readings of the task's list on lower lanes that go on. */
const below = ({ tasks }: State, { resource, lane }: Task): UnderWay[] =>
  tasks
    .filter(other => other.resource === resource && rankOf(other.lane) > rankOf(lane))
    .flatMap(other => [...other.underWay].filter(({ stopAsking }) => !stopAsking.signal.aborted));

/** An error in what a list has stored fails what is done for it. */
function orFailure<T>(task: Task, decide: () => T): T | Act {
  try {
    return decide();
  } catch (error) {
    return { kind: 'fail', task, error };
  }
}

/** What a task does next. */
function actFor(state: State, task: Task): Act | 'blocked' {
  const { now, rules, lists } = state;
  const { resource } = task;
  const phase = phaseOf(task.state);
  if (phase === 'ending') return task.underWay.size > 0 ? 'blocked' : (distrust(task) ?? { kind: 'end', task });
  const before = lookUp(task);
  if (before) return before;
  if (waitsForRows(state, task)) return 'blocked';
  if (phase === 'unanswered') return askOthers(state, task);
  const holds = !task.full && monthsHold(resource, lists, now);
  const next = plan({ ...factsFor(task, now), now, today: dayIn(now, rules.timeZone), monthsHold: holds });
  if (next === 'blocked') return next;
  if (isPause(next)) return { kind: 'pause', task, until: next.until };
  if (next !== 'done') return { kind: 'ask', task, choice: next };
  return distrust(task) ?? { kind: hasToRecount(task) ? 'recount' : 'end', task };
}

/** What decides about the questions of the task's list, whoever asks. */
const factsFor = (task: Task, now: number) => ({
  list: task.resource,
  wish: task,
  missing: task.resource.missing ?? [],
  absent: isAbsent(task, now),
});

/** What has to be done before anything is decided about a list. */
function lookUp(task: Task): Act | null {
  const { resource } = task;
  const slices = slicesOfOtherPartitions(resource);
  if (slices.length > 0) return { kind: 'drop slices', task, slices };
  return resource.holdsMissing && resource.missing === null ? { kind: 'look for missing', task } : null;
}

/** Slices that do not fit the order or filters of the list any more. */
function slicesOfOtherPartitions({ entries, reading, strategy }: Resource): Slice[] {
  if (reading.size > 0) return [];
  const kinds = ['id', 'date', 'whole'].filter(kind => kind !== strategy.partition);
  return [...entries.values()].flatMap(({ slice }) => (kinds.includes(slice.by) ? slice : []));
}

/** Whether the source is known not to offer the list. */
export const isAbsent = (task: Task, now: number): boolean =>
  task.state.presence === 'absent' || isKnownAbsent(task.resource, task, now);

/** Whether parts of the list that the task wants were never read and not given up. */
export function hasUnread(task: Task): boolean {
  const { failure, presence, done } = task.state;
  if (failure !== null || presence !== 'assumed') return false;
  const unread = partition(task.resource).filter(({ provenAt }) => provenAt === null);
  return unread.some(({ slice }) => wants(task, slice) && !done.has(sliceText(slice)));
}

/** Were the source's counts off by the same number again and again? */
export function doubtOf({ reportOnly, state, resource }: Task): Observation | null {
  const miscount = reportOnly ? null : steadyMiscount(state);
  return miscount && doubtCounts(resource.profile, miscount.slice, miscount.by);
}

function distrust(task: Task): Act | null {
  const doubt = doubtOf(task);
  return doubt ? { kind: 'distrust', task, doubt } : null;
}

/**
 * Whether the count must be asked for at the end: rows that all windows lack wait for it, or the source may count rows that no window shows, and
 * the task has read all that could explain them otherwise.
 */
function hasToRecount({ kind, reportOnly, resource, since, state }: Task): boolean {
  const readsAll = kind === 'sync' || (kind === 'verify' && !reportOnly);
  // Others have no count from before the cover: theirs agrees only with that of the windows.
  const mayAgree = readsAll || (resource.profile.counts === null && !resource.profile.leavesOut);
  if (!reportOnly && !state.countAsked && mayAgree && countsAfterCover(resource) && lackedByCover(resource) > 0)
    return true;
  if (!mayHideRows(resource) || (resource.total == null && kind !== 'verify')) return false;
  const knowsNew = isIdOrdered(resource.profile) && reachedKnownRows(resource);
  const knowsAll = knowsNew || (oldestProof(resource) ?? 0) >= since;
  return readsAll || (kind === 'slot' && knowsAll && (resource.total ?? 0) > rowsProven(resource));
}

/** The last reading of the newest end came to rows that were stored: where they are ordered by id, it overlooked no new one. */
const reachedKnownRows = ({ entries }: Resource): boolean =>
  (entries.get(sliceText({ by: 'newest' }))?.requests ?? MOST_PAGES) < MOST_PAGES;

/** The task only waits until it is decided whether it reads everything; no current reading blocks it. */
const waitsForOtherLists = (task: Task): boolean =>
  task.kind === 'sync' && task.state.readsAll === null && !hasUnread(task);

/**
 * A report is read after the lists that it sums up: in a sync, so that it follows what that sync finds, and at first, since what their first
 * readings bring would count as changed and every month would be read a second time.
 */
function waitsForRows({ tasks, lists }: State, task: Task): boolean {
  const rows = summedLists(task.resource, lists);
  const goFirst = tasks.filter(other => other.lane === 'live' && rows.includes(other.resource));
  // Until everything was read once, the syncs wait to decide how much they read again: waiting for all of one would be in vain.
  if (hasUnread(task)) return goFirst.some(hasUnread);
  return task.kind === 'sync' && goFirst.some(({ kind }) => kind === 'sync');
}

/** A list that answered 404 waits until another list is answered. If none is, the address is wrong. */
function askOthers(state: State, task: Task): Act | 'blocked' {
  const { now: at, begunAt, tasks, lists } = state;
  const { resource } = task;
  if (othersAnswering(resource, lists, { at, begunAt }).length > 0) return { kind: 'answered', task };
  const others = tasks.filter(other => other.resource !== resource && !waitsForRows(state, other));
  const waits = others.some(other => other.state.presence !== 'unanswered' && !other.state.failure);
  return waits ? 'blocked' : { kind: 'fail', task, error: listIsGone(resource) };
}

/**
 * Decides once for each sync whether it reads everything again, as soon as every list was read in full for the first time. One that does
 * not spends what is left of the limit; one that gets none of it ends, so that nobody waits for it.
 */
function shareLimit({ tasks, lists, rules, limit, now, granted }: State): Act | null {
  const syncs = tasks.filter(task => task.kind === 'sync');
  const undecided = syncs.filter(({ state }) => state.readsAll === null && state.closed === null);
  if (undecided.length === 0 || syncs.some(hasUnread)) return null;
  if (limit === null || !isSeenLately(rules, limit, now)) return { kind: 'look at the limit' };
  const free = limit.forecast.free - (granted - limit.granted);
  const { weights = {}, windowMs } = rules;
  const requests = undecided.reduce(
    (sum, { resource, since }) => sum + rereadCost(resource, since, monthsHold(resource, lists, now)),
    0,
  );
  const everything = isAffordable(requests, { hourly: (rules.limit * HOUR) / windowMs, free });
  const weightOf = ({ resource }: Task) => (weights[resource.name] ?? 1) || 1;
  let all = undecided.reduce((sum, task) => sum + weightOf(task), 0);
  let left = Math.max(free, 0);
  const shares = new Map<Task, Share>();
  for (const task of undecided) {
    const share = Math.round((left * weightOf(task)) / all);
    left -= share;
    all -= weightOf(task);
    // Rows whose deletion was accepted have to be confirmed, even if that means to wait.
    const most = task.state.accepted > 0 ? Math.max(share, 1) : share;
    // With --no-wait, the first request that would wait reports it.
    const isNothing = free < 1 && most === 0 && !rules.noWait;
    shares.set(task, everything ? 'everything' : isNothing ? null : most);
  }
  return { kind: 'share', shares };
}

/** Asks the best question of all lists, if the pace allows one. */
function askOfItself(state: State): Act {
  const { agenda, now, rules, tasks, limit, granted } = state;
  if (!agenda || !state.asks || state.running >= rules.concurrency) return { kind: 'wait', wakeAt: null, askAt: null };
  const later: Act = { kind: 'wait', wakeAt: null, askAt: now + LATER_MS };
  const [asked] = agenda.ended;
  if (asked) return { kind: 'follow up', asked };
  // Ticks and hints go first; what they find may change the question. A first sync takes long: others go on beside it.
  if (tasks.some(task => task.kind === 'hint' || (task.kind === 'slot' && !hasUnread(task)))) return later;
  if (limit === null || !isSeenLately(rules, limit, now)) return { kind: 'look at the limit' };
  const rule = paceRule(rules, limit, tasks.length > 0);
  const pace = refill(spend(agenda.memory.pace ?? startPace(now), granted - agenda.granted), now, rule);
  const underWay = [...agenda.asking.values()].reduce((sum, requests) => sum + requests, 0);
  const wait = waitFor(spend(pace, underWay), rule);
  // What is left may last better by then.
  if (wait > 0) return { kind: 'wait', wakeAt: null, askAt: now + Math.min(wait, rules.windowMs / STEPS), pace };
  for (const task of agenda.tasks.values()) {
    const before = cutIfDue(agenda, task, now) ?? lookUp(task);
    if (before) return before;
  }
  const found = bestQuestion(state, agenda);
  if (found === null) return { ...later, pace };
  if ('kind' in found) return found;
  const { task, choice, requests } = found;
  // Nothing is kept for more than half of the limit.
  const isFree = freeFor(rules, limit, granted) > Math.min(requests - 1, rules.limit / 2);
  return isFree ? { kind: 'ask', task, choice, cost: requests, pace } : { ...later, pace };
}

/** Once an hour, the windows of a list are cut anew. What is being read stays as it is. */
function cutIfDue({ memory }: Agenda, task: Task, now: number): Act | null {
  const { name, reading } = task.resource;
  const isDue = now - (memory.cutAt.get(name) ?? Number.NEGATIVE_INFINITY) >= CUT_EVERY_MS;
  return isDue && reading.size === 0 ? { kind: 'cut anew', task } : null;
}

type OfTask = Question & { readonly task: Task };

/** The best of the questions about all lists. */
function bestQuestion({ rules, lists, now }: State, { tasks, memory }: Agenda): OfTask | Act | null {
  const known = [...tasks.values()].map(task => {
    const attempts = memory.attempts.get(task.resource.name) ?? new Map();
    return { ...factsFor(task, now), attempts };
  });
  const found: OfTask[] = [];
  for (const facts of factsOf(rules, known, lists, now)) {
    const task = facts.wish;
    const asked = orFailure(task, () => best(questionsOf(facts).filter(isWorthIt)));
    if (asked !== null && 'kind' in asked) return asked;
    if (asked !== null) found.push({ ...asked, task });
  }
  return best(found);
}

const isWorthIt = ({ score, overdue, waiting }: Question): boolean => overdue || waiting !== undefined || score > 0;
