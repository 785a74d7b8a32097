import { STEPS } from '../../../budget/forecast.ts';
import { SECOND } from '../../../clock.ts';
import type { MissingRow } from '../../../warehouse/rows/missing-rows.ts';
import { type AgendaList, factsOf } from '../../agenda/list-facts.ts';
import { refill, spend, startPace, waitFor } from '../../agenda/pace.ts';
import { isKnownAbsent } from '../../agenda/plan.ts';
import { type Attempts, best, type Question, questionsOf } from '../../agenda/questions.ts';
import type { Resource } from '../../resource.ts';
import { sliceText } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';
import type { Engine, Loop } from '../engine.ts';
import { hasUnread } from '../has-unread.ts';
import { knownMissing } from '../known-missing.ts';
import { startReading } from '../readings/start-reading.ts';
import { dropOtherPartitions } from '../recut.ts';
import type { Agenda, AgendaMemory, Asked, LimitSeen } from './agenda.ts';
import { cutLists } from './cut-lists.ts';
import { freeFor, lookAtLimit, looksEveryMs, paceRule } from './open-agenda.ts';
import { forList, settle } from './settle.ts';

/** When to look again where nothing can be asked now. */
const LATER_MS = 2 * SECOND;

/** Asks the best question of all lists, if the pace allows one. Returns when the next may be asked (epoch ms); null if one was. */
export async function askNext(loop: Loop, agenda: Agenda, now: number): Promise<number | null> {
  const { engine } = loop;
  const { memory } = agenda;
  for (const asked of agenda.ended.splice(0))
    await forList(loop, agenda, asked.task, () => settle(loop, agenda, asked));
  // Ticks and hints go first; what they find may change the question. A first sync takes long: others go on beside it.
  if (loop.tasks.some(task => task.kind === 'hint' || (task.kind === 'slot' && !hasUnread(task))))
    return now + LATER_MS;
  const othersWait = loop.tasks.length > 0;
  const granted = engine.granted();
  const spent = spend(memory.pace ?? startPace(now), granted - agenda.granted);
  memory.pace = refill(spent, now, paceRule(engine, agenda.limit, othersWait));
  agenda.granted = granted;
  if (now - agenda.limit.at >= looksEveryMs(engine)) agenda.limit = await lookAtLimit(engine, now);
  const rule = paceRule(engine, agenda.limit, othersWait);
  const underWay = [...agenda.asking.values()].reduce((sum, requests) => sum + requests, 0);
  const wait = waitFor(spend(memory.pace, underWay), rule);
  // What is left may last better by then.
  if (wait > 0) return now + Math.min(wait, engine.windowMs / STEPS);
  await cutLists(loop, agenda, now);
  const asked = best((await questions(loop, agenda, now)).filter(isWorthIt));
  if (asked === null || !isFree(engine, agenda.limit, asked)) return now + LATER_MS;
  ask(loop, agenda, asked, now);
  return null;
}

/** The limit has enough left for the question and a little more. Nothing is kept for more than half of it. */
const isFree = (engine: Engine, seen: LimitSeen, { requests }: Question): boolean =>
  freeFor(engine, seen) > Math.min(requests - 1, engine.limit / 2);

const isWorthIt = ({ score, overdue, waiting }: Question): boolean => overdue || waiting !== undefined || score > 0;

interface OfTask extends Question {
  readonly task: Task;
}

interface OfList extends AgendaList {
  readonly list: Resource;
  readonly wish: Task;
}

async function questions(loop: Loop, agenda: Agenda, now: number): Promise<OfTask[]> {
  const { engine } = loop;
  const { tasks, memory } = agenda;
  const lists: OfList[] = [];
  for (const [resource, task] of tasks)
    await forList(loop, agenda, task, async () => {
      task.absent = isKnownAbsent(resource, task, now);
      await dropOtherPartitions(loop, resource);
      const missing = await knownMissing(engine, resource);
      lists.push({ list: resource, wish: task, missing, attempts: attemptsFor(memory, resource, missing) });
    });
  return factsOf(engine, lists, engine.resources, now).flatMap(facts =>
    questionsOf(facts).map(each => ({ ...each, task: facts.wish })),
  );
}

/** Until its reading ends, it counts as the requests that it is expected to take. */
function ask(loop: Loop, agenda: Agenda, { task, choice, requests }: OfTask, now: number): void {
  const { slice, asks } = choice;
  task.progress.done.delete(sliceText(slice));
  if (typeof asks === 'object') noteAttempt(agenda.memory, task.resource, asks.row, now);
  const asked: Asked = { task, slice };
  agenda.asking.set(asked, Math.max(Math.round(requests), 1));
  void startReading(loop, task, choice, now).finally(() => {
    agenda.asking.delete(asked);
    agenda.ended.push(asked);
  });
}

/** Drops those of rows that are no longer missing: they would add up for as long as the service runs. */
function attemptsFor({ attempts }: AgendaMemory, { name }: Resource, missing: readonly MissingRow[]) {
  const rows = attempts.get(name) ?? new Map<string, Attempts>();
  const keys = new Set(rows.size > 0 ? missing.map(({ key }) => key) : []);
  for (const key of rows.keys()) if (!keys.has(key)) rows.delete(key);
  return rows;
}

function noteAttempt({ attempts }: AgendaMemory, { name }: Resource, row: string, at: number): void {
  const rows = attempts.get(name) ?? new Map<string, Attempts>();
  attempts.set(name, rows.set(row, { times: (rows.get(row)?.times ?? 0) + 1, at }));
}
