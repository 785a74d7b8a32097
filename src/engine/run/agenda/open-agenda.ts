import { type Forecast, lastingRate, STEPS, wholeLimit } from '../../../budget/forecast.ts';
import { lastSlotRuns } from '../../../warehouse/ledgers/slots.ts';
import { type Pace, type PaceRule, startPace } from '../../agenda/pace.ts';
import type { Resource } from '../../resource.ts';
import { createTask, type Task } from '../../task/task.ts';
import type { Engine } from '../engine.ts';
import type { Serves } from '../serves.ts';
import { type Agenda, newMemory } from './agenda.ts';
import { rests } from './rest.ts';

/** The share of the limit that the agenda leaves to people and hints. */
const RESERVE = 0.005;
/** Even a small limit pays for an answer of a few pages. */
const LEAST_SAVED = 4;

/**
 * How fast the agenda may spend: evenly, so that what is left lasts, or only what ticks have brought. While others wait for requests it takes
 * half. It saves what can be spent during one step of the forecast.
 */
export function paceRule(
  { limit, windowMs }: Engine,
  by: Agenda['by'],
  forecast: Forecast,
  othersWait: boolean,
): PaceRule {
  if (by === 'ticks') return { rate: 0, most: limit };
  const rate = Math.min(lastingRate(forecast, RESERVE * limit), limit / windowMs);
  return { rate: othersWait ? rate / 2 : rate, most: Math.max(limit / STEPS, Math.min(LEAST_SAVED, limit)) };
}

/** What is left of the limit, at the moment `now` (epoch ms). */
export async function lookAtLimit({ forecast, limit, windowMs }: Engine, now: number): Promise<Agenda['limit']> {
  return { forecast: (await forecast?.()) ?? wholeLimit(limit, windowMs), at: now };
}

/** Requests that the agenda may send now without touching its reserve. */
export const freeFor = ({ limit }: Engine, { free }: Forecast): number => free - RESERVE * limit;

/** Opens the agenda of the lists that had a tick before. A list whose last tick failed is left to the next, unless it has answered since. */
export async function openAgenda(
  engine: Engine,
  { pace: by, memory = newMemory() }: { readonly pace: Agenda['by'] } & Pick<Serves, 'memory'>,
  now: number,
): Promise<Agenda> {
  const limit = await lookAtLimit(engine, now);
  memory.pace ??= firstPace(engine, by, limit);
  const tasks = new Map<Resource, Task>();
  const runs = await lastSlotRuns(engine.database.kysely, engine.source);
  for (const resource of engine.resources) {
    const run = runs.get(resource.name);
    if (run && !rests(resource, run.failure, run.at)) tasks.set(resource, agendaTask(resource, run.runId, now));
  }
  const granted = engine.granted();
  return { by, tasks, asking: new Map(), ended: [], failing: new Map(), granted, limit, memory };
}

/** What is left of the limit tells how many requests were saved. */
function firstPace(engine: Engine, by: Agenda['by'], { forecast, at }: Agenda['limit']): Pace {
  if (by === 'ticks') return startPace(at);
  const { most } = paceRule(engine, by, forecast, false);
  return { saved: Math.min(Math.max(freeFor(engine, forecast), 0), most), at };
}

export const agendaTask = (resource: Resource, runId: string, now: number): Task =>
  createTask({ kind: 'agenda', resource, runId, orderId: null, since: now, lane: 'live', allowance: 0 });
