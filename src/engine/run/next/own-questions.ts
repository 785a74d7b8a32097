import { STEPS } from '../../../budget/forecast.ts';
import { HOUR, SECOND } from '../../../clock.ts';
import { isTargeted } from '../../agenda/choice.ts';
import { factsOf } from '../../agenda/list-facts.ts';
import { refill, spend, startPace, waitFor } from '../../agenda/pace.ts';
import { best, type Question, questionsOf } from '../../agenda/questions.ts';
import type { Task } from '../../task/task.ts';
import type { Agenda } from '../agenda.ts';
import { freeFor, isSeenLately, paceRule } from '../limit-seen.ts';
import type { Act, State } from '../state.ts';
import { factsFor, hasUnread, lookUp, orFailure, placesFor } from './task-act.ts';

/** The loop looks again after this time where nothing can be asked now. */
const LATER_MS = 2 * SECOND;
/** Windows of a list are cut anew so often. */
const CUT_EVERY_MS = HOUR;

/** Asks the best question of all lists, if the pace allows one. */
export function askOfItself(state: State): Act {
  const { agenda, now, rules, tasks, limit, granted } = state;
  if (!agenda || !state.mayAsk || state.running >= placesFor(state, 'live'))
    return { kind: 'wait', wakeAt: null, askAt: null };
  const later: Act = { kind: 'wait', wakeAt: null, askAt: now + LATER_MS };
  const [asked] = agenda.ended;
  if (asked) return { kind: 'follow up', asked };
  // Ticks, hints and refreshes go first; what they find may change the question. A first sync takes long: others go on beside it.
  if (tasks.some(task => isTargeted(task) || (task.kind === 'slot' && !hasUnread(task)))) return later;
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
  const { failed, best: found } = bestQuestion(state, agenda);
  if (failed) return failed;
  if (found === null) return { ...later, pace };
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

/** The best of the questions about all lists; `failed`: what is stored of one is wrong, which comes first. */
function bestQuestion({ rules, lists, now }: State, { tasks, memory }: Agenda): { failed?: Act; best: OfTask | null } {
  const known = [...tasks.values()].map(task => {
    const attempts = memory.attempts.get(task.resource.name) ?? new Map();
    return { ...factsFor(task, now), attempts };
  });
  const found: OfTask[] = [];
  for (const facts of factsOf(rules, known, lists, now)) {
    const task = facts.wish;
    const asked = orFailure(task, () => best(questionsOf(facts).filter(isWorthIt)));
    if (asked !== null && 'kind' in asked) return { failed: asked, best: null };
    if (asked !== null) found.push({ ...asked, task });
  }
  return { best: best(found) };
}

const isWorthIt = ({ score, overdue, waiting }: Question): boolean => overdue || waiting !== undefined || score > 0;
