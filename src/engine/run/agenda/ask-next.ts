import { HOUR, SECOND } from '../../../clock.ts';
import { factsOf } from '../../agenda/list-facts.ts';
import { refill, spend, waitFor } from '../../agenda/pace.ts';
import { isKnownAbsent } from '../../agenda/plan.ts';
import { type Attempts, best, type Question, questionsOf } from '../../agenda/questions.ts';
import type { Resource } from '../../resource.ts';
import { sliceText } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';
import type { Loop } from '../engine.ts';
import { knownMissing } from '../known-missing.ts';
import { startReading } from '../readings/start-reading.ts';
import type { Agenda } from './agenda.ts';
import { paceRule } from './open-agenda.ts';
import { resize } from './resize.ts';
import { rest } from './rest.ts';
import { settle } from './settle.ts';

/** The share of the limit that the agenda leaves to people and hints. */
const RESERVE = 0.005;
/** When to look again where nothing can be asked now. */
const LATER_MS = 2 * SECOND;

/** Asks the best question of all lists, if the pace allows one. Returns when the next may be asked (epoch ms); null if one was. */
export async function askNext(loop: Loop, agenda: Agenda, now: number): Promise<number | null> {
  const { engine } = loop;
  for (const asked of agenda.ended.splice(0)) await settle(loop, asked);
  // Ticks, hints and syncs go first; what they find may change the question.
  if (loop.tasks.some(({ lane }) => lane === 'live')) return now + LATER_MS;
  const rule = paceRule(
    engine,
    agenda.by,
    loop.tasks.some(({ lane }) => lane !== 'live'),
  );
  agenda.pace = refill(agenda.pace, now, rule);
  const wait = waitFor(agenda.pace, rule);
  if (wait > 0) return now + wait;
  await resize(engine, agenda, now);
  const asked = best((await questions(loop, agenda, now)).filter(isWorthIt));
  const isFree = engine.free === undefined || (await engine.free()) > RESERVE * engine.limit;
  if (asked === null || !isFree) return rule.rate > 0 ? now + LATER_MS : Number.POSITIVE_INFINITY;
  ask(loop, agenda, asked, now);
  return null;
}

const isWorthIt = ({ score, overdue, waiting }: Question): boolean => overdue || waiting !== undefined || score > 0;

interface OfTask extends Question {
  readonly task: Task;
}

async function questions(loop: Loop, { by, tasks, attempts }: Agenda, now: number): Promise<OfTask[]> {
  const { engine } = loop;
  const lists = [];
  for (const [resource, task] of tasks) {
    task.absent = isKnownAbsent(resource, task, now);
    const missing = await knownMissing(engine, resource);
    lists.push({
      list: resource,
      wish: task,
      missing,
      attempts: attempts.get(resource) ?? new Map<string, Attempts>(),
    });
  }
  // What a tick brings may take long for a sweep; age alone lets every question come up in the end.
  const rules = by === 'ticks' ? { ...engine, mostSweeps: Number.POSITIVE_INFINITY } : engine;
  return factsOf(rules, lists, engine.resources, now).flatMap(facts => {
    const task = facts.wish;
    const sinceTick = (now - task.since) / HOUR;
    // At ticks, each question is asked once, or as often as there is something to settle.
    const isOpen = ({ age, waiting }: Question) => by === 'even' || waiting !== undefined || age > sinceTick;
    return questionsOf(facts).flatMap(each => (isOpen(each) ? { ...each, task } : []));
  });
}

/** Requests are taken from the pace as estimated, and put right when the reading has ended. */
function ask(loop: Loop, agenda: Agenda, { task, choice, requests }: OfTask, now: number): void {
  const estimated = Math.max(Math.round(requests), 1);
  agenda.pace = spend(agenda.pace, estimated);
  task.progress.done.delete(sliceText(choice.slice));
  if (typeof choice.asks === 'object') noteAttempt(agenda, task.resource, choice.asks.row, now);
  const { failure } = task;
  const before = task.counts.requests;
  void startReading(loop, task, choice, now).finally(() => {
    agenda.pace = spend(agenda.pace, task.counts.requests - before - estimated);
    agenda.ended.push({ task, slice: choice.slice, failure });
    rest(agenda, task);
  });
}

function noteAttempt({ attempts }: Agenda, resource: Resource, row: string, at: number): void {
  const rows = attempts.get(resource) ?? new Map<string, Attempts>();
  attempts.set(resource, rows.set(row, { times: (rows.get(row)?.times ?? 0) + 1, at }));
}
