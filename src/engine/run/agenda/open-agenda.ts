import { MINUTE } from '../../../clock.ts';
import { lastSlotRuns } from '../../../warehouse/ledgers/slots.ts';
import { type Pace, type PaceRule, startPace } from '../../agenda/pace.ts';
import type { Resource } from '../../resource.ts';
import { createTask, type Task } from '../../task/task.ts';
import type { Engine } from '../engine.ts';
import type { Serves } from '../serves.ts';
import { type Agenda, newMemory } from './agenda.ts';
import { rests } from './rest.ts';

/** The share of the limit that the agenda leaves to people and hints. */
export const RESERVE = 0.005;
/** Requests that were not spent are kept for so long. */
const KEPT_MS = 2 * MINUTE;
/** Even a small limit pays for an answer of a few pages. */
const LEAST_KEPT = 4;

/** How fast the agenda may spend: evenly, or only what ticks have brought. While others wait for requests it takes half. */
export function paceRule({ limit, windowMs }: Engine, by: Agenda['by'], othersWait: boolean): PaceRule {
  if (by === 'ticks') return { rate: 0, most: limit };
  const rate = limit / windowMs;
  return { rate: othersWait ? rate / 2 : rate, most: Math.max(Math.min(rate * KEPT_MS, limit), LEAST_KEPT) };
}

/** Opens the agenda of the lists that had a tick before. A list whose last tick failed is left to the next, unless it has answered since. */
export async function openAgenda(
  engine: Engine,
  { pace: by, memory = newMemory() }: { readonly pace: Agenda['by'] } & Pick<Serves, 'memory'>,
  now: number,
): Promise<Agenda> {
  memory.pace ??= await firstPace(engine, by, now);
  const tasks = new Map<Resource, Task>();
  const runs = await lastSlotRuns(engine.database.kysely, engine.source);
  for (const resource of engine.resources) {
    const run = runs.get(resource.name);
    if (run && !rests(resource, run.failure, run.at)) tasks.set(resource, agendaTask(resource, run.runId, now));
  }
  const granted = engine.granted();
  return { by, tasks, asking: new Map(), ended: [], failing: new Map(), granted, memory };
}

/** What is left of the limit tells how many requests were saved. */
async function firstPace(engine: Engine, by: Agenda['by'], now: number): Promise<Pace> {
  if (by === 'ticks') return startPace(now);
  const free = (await engine.free?.()) ?? engine.limit;
  const { most } = paceRule(engine, by, false);
  return { saved: Math.min(Math.max(free - RESERVE * engine.limit, 0), most), at: now };
}

export const agendaTask = (resource: Resource, runId: string, now: number): Task =>
  createTask({ kind: 'agenda', resource, runId, orderId: null, since: now, lane: 'live', allowance: 0 });
