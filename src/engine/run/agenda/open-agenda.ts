import { lastingRate, STEPS, wholeLimit } from '../../../budget/forecast.ts';
import { lastSlotRuns } from '../../../warehouse/ledgers/slots.ts';
import type { Pace, PaceRule } from '../../agenda/pace.ts';
import type { Resource } from '../../resource.ts';
import { createTask, type Task } from '../../task/task.ts';
import type { Engine } from '../engine.ts';
import type { Agenda, AgendaMemory, LimitSeen } from './agenda.ts';
import { rests } from './rest.ts';

/** The share of the limit that the agenda leaves to people and hints. */
const RESERVE = 0.005;
/** Even a small limit pays for an answer of a few pages. */
const LEAST_SAVED = 4;

/**
 * How fast the agenda may spend: evenly, so that what is left lasts. While others wait for requests it takes half. It saves what can be
 * spent during one step of the forecast.
 */
export function paceRule({ limit, windowMs }: Engine, { forecast }: LimitSeen, othersWait: boolean): PaceRule {
  const rate = Math.min(lastingRate(forecast, RESERVE * limit), limit / windowMs);
  return { rate: othersWait ? rate / 2 : rate, most: Math.max(limit / STEPS, Math.min(LEAST_SAVED, limit)) };
}

export async function lookAtLimit({ forecast, limit, windowMs, granted }: Engine, now: number): Promise<LimitSeen> {
  const seen = { at: now, granted: granted() };
  return { forecast: (await forecast?.()) ?? wholeLimit(limit, windowMs), ...seen };
}

/** A look at the limit holds for so long: twelve seconds of an hour. */
export const looksEveryMs = ({ windowMs }: Engine): number => windowMs / STEPS / 10;

/** Requests that the agenda may send now without touching its reserve. */
export const freeFor = ({ limit, granted }: Engine, seen: LimitSeen): number =>
  seen.forecast.free - (granted() - seen.granted) - RESERVE * limit;

/** Opens the agenda of the lists that had a tick before. A list whose last tick failed is left to the next, unless it has answered since. */
export async function openAgenda(engine: Engine, memory: AgendaMemory, now: number): Promise<Agenda> {
  const limit = await lookAtLimit(engine, now);
  memory.pace ??= firstPace(engine, limit);
  const tasks = new Map<Resource, Task>();
  const runs = await lastSlotRuns(engine.database.kysely, engine.source);
  for (const resource of engine.resources) {
    const run = runs.get(resource.name);
    if (run && !rests(resource, run.failure, run.at)) tasks.set(resource, agendaTask(resource, run.runId, now));
  }
  const granted = engine.granted();
  return { tasks, asking: new Map(), ended: [], failing: new Map(), granted, limit, memory };
}

/** What is left of the limit tells how many requests were saved. */
function firstPace(engine: Engine, seen: LimitSeen): Pace {
  const { most } = paceRule(engine, seen, false);
  return { saved: Math.min(Math.max(freeFor(engine, seen), 0), most), at: seen.at };
}

export const agendaTask = (resource: Resource, runId: string, now: number): Task =>
  createTask({ kind: 'agenda', resource, runId, orderId: null, since: now, lane: 'live', allowance: 0 });
