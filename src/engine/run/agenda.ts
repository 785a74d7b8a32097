import { type Forecast, lastingRate, STEPS, wholeLimit } from '../../budget/forecast.ts';
import { type Clock, SECOND } from '../../clock.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { lastSlotRuns } from '../../warehouse/ledgers/slots.ts';
import type { Pace, PaceRule } from '../agenda/pace.ts';
import type { Attempts } from '../agenda/questions.ts';
import { wasAnswered } from '../coverage/list.ts';
import type { Resource } from '../resource.ts';
import type { Slice } from '../slices/slice.ts';
import { createTask, type Task } from '../task/task.ts';

/** What a loop asks of its own accord, and how fast. */
export interface Agenda {
  /** The task of each list that has a schedule: it counts for the run of the list's last tick. */
  readonly tasks: Map<Resource, Task>;
  /** Questions that are being read, those of an earlier tick included, and the requests that each is expected to take. */
  readonly asking: Map<Asked, number>;
  /** Questions whose readings have ended, until the loop looks at what they led to. */
  readonly ended: Asked[];
  /** Questions in a row that made a list fail. */
  readonly failing: Map<Resource, number>;
  /** Requests that had been granted when the pace was last counted. */
  granted: number;
  readonly memory: AgendaMemory;
}

/** A question that was asked. */
export interface Asked {
  readonly task: Task;
  readonly slice: Slice;
}

/** What outlives a loop, by the names of resources. */
export interface AgendaMemory {
  /** Null before the first loop. */
  pace: Pace | null;
  /** How often missing rows were asked for, by key. */
  readonly attempts: Map<string, Map<string, Attempts>>;
  /** When the windows of each list were last cut anew (epoch ms). */
  readonly cutAt: Map<string, number>;
}

export const newMemory = (): AgendaMemory => ({ pace: null, attempts: new Map(), cutAt: new Map() });

/** What was left of the limit. */
export interface LimitSeen {
  readonly forecast: Forecast;
  /** When (epoch ms). */
  readonly at: number;
  /** Requests that had been granted to live readings by then. */
  readonly granted: number;
}

interface Limit {
  /** Requests per window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
}

/** The share of the limit that the agenda leaves to people and hints. */
const RESERVE = 0.005;
/** Even a small limit pays for an answer of a few pages. */
const LEAST_SAVED = 4;

/**
 * How fast the agenda may spend: evenly, so that what is left lasts. While others wait for requests it takes half. It saves what can be
 * spent during one step of the forecast.
 */
export function paceRule({ limit, windowMs }: Limit, { forecast }: LimitSeen, othersWait: boolean): PaceRule {
  const rate = Math.min(lastingRate(forecast, RESERVE * limit), limit / windowMs);
  return { rate: othersWait ? rate / 2 : rate, most: Math.max(limit / STEPS, Math.min(LEAST_SAVED, limit)) };
}

/** A look at the limit holds for twelve seconds of an hour. What follows from it takes time, however short the window. */
export const isSeenLately = ({ windowMs }: Limit, { at }: LimitSeen, now: number): boolean =>
  now - at < Math.max(windowMs / STEPS / 10, SECOND);

/** Requests that the agenda may send now without touching its reserve. */
export const freeFor = ({ limit }: Limit, seen: LimitSeen, granted: number): number =>
  seen.forecast.free - (granted - seen.granted) - RESERVE * limit;

export async function lookAtLimit(
  engine: Limit & { clock: Clock; forecast?: () => Promise<Forecast>; granted: () => number },
  now: number,
): Promise<LimitSeen> {
  const { clock, limit, windowMs } = engine;
  const [askedAt, granted] = [clock.now(), engine.granted()];
  const forecast = (await engine.forecast?.()) ?? wholeLimit(limit, windowMs);
  // As old as its answer: if it took longer than a look holds, the next would be taken at once.
  return { forecast, at: now + clock.now() - askedAt, granted };
}

/** Opens the agenda of the lists that had a tick before. A list whose last tick failed is left to the next, unless it has answered since. */
export async function openAgenda(
  engine: Limit & { database: Database; source: string; resources: readonly Resource[]; granted: () => number },
  memory: AgendaMemory,
  seen: LimitSeen,
  now: number,
): Promise<Agenda> {
  // What is left of the limit tells how many requests were saved.
  const { most } = paceRule(engine, seen, false);
  memory.pace ??= { saved: Math.min(Math.max(freeFor(engine, seen, seen.granted), 0), most), at: seen.at };
  const tasks = new Map<Resource, Task>();
  const runs = await lastSlotRuns(engine.database.kysely, engine.source);
  for (const resource of engine.resources) {
    if (!resource.holdsMissing) memory.attempts.delete(resource.name);
    const run = runs.get(resource.name);
    if (run && !rests(resource, run.failure, run.at)) tasks.set(resource, agendaTask(resource, run.runId, now));
  }
  return { tasks, asking: new Map(), ended: [], failing: new Map(), granted: engine.granted(), memory };
}

export const agendaTask = (resource: Resource, runId: string, now: number): Task =>
  createTask({ kind: 'agenda', resource, runId, orderId: null, since: now, lane: 'live' });

/** Nothing is answered until somebody corrects the settings. */
const LASTING: ReadonlySet<string> = new Set(['unauthorized', 'configuration']);

/**
 * Whether the list as a whole does not answer: it failed, and none of its readings was answered since `since` (epoch ms). Beyond the loss
 * limit only losses stop.
 */
const rests = (list: Resource, failure: string | null | undefined, since: number): boolean =>
  Boolean(failure) && failure !== 'fuse' && (LASTING.has(failure as string) || !wasAnswered(list, since));

/** Takes a list that does not answer off the agenda until its next tick, and all lists of a source that does not. */
export function rest(
  agenda: Agenda | null,
  lists: readonly Resource[],
  { state: { failure }, resource }: Task,
  since: number,
): void {
  if (!agenda || !rests(resource, failure?.kind, since)) return;
  const isDown = failure?.kind === 'unavailable' && !lists.some(list => wasAnswered(list, since));
  if (isDown) agenda.tasks.clear();
  else agenda.tasks.delete(resource);
}

/** Drops the attempts of rows that are no longer missing: they would add up for as long as the service runs. */
export function forgetAttempts({ attempts }: AgendaMemory, { name, missing }: Resource): void {
  const rows = attempts.get(name);
  if (!rows) return;
  const keys = new Set(missing?.map(({ key }) => key));
  for (const key of rows.keys()) if (!keys.has(key)) rows.delete(key);
}

export function noteAttempt({ attempts }: AgendaMemory, { name }: Resource, row: string, at: number): void {
  const rows = attempts.get(name) ?? new Map<string, Attempts>();
  attempts.set(name, rows.set(row, { times: (rows.get(row)?.times ?? 0) + 1, at }));
}
