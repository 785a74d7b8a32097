import { HOUR, MINUTE } from '../../../clock.ts';
import { lastSlotRuns } from '../../../warehouse/ledgers/slots.ts';
import { type PaceRule, refill, startPace } from '../../agenda/pace.ts';
import type { Resource } from '../../resource.ts';
import { createTask, type Task } from '../../task/task.ts';
import type { Engine } from '../engine.ts';
import type { Agenda } from './agenda.ts';
import { rests } from './rest.ts';

/** Requests that were not spent are kept for so long. */
const KEPT_MS = 2 * MINUTE;
/** Even a small limit pays for an answer of a few pages. */
const LEAST_KEPT = 4;

/** How fast the agenda may spend: evenly, or only what ticks have brought. While others wait for requests it takes half. */
export function paceRule({ limit, windowMs }: Engine, by: Agenda['by'], othersWait: boolean): PaceRule {
  if (by === 'ticks') return { rate: 0, most: limit };
  const rate = limit / windowMs;
  return { rate: othersWait ? rate / 2 : rate, most: Math.max(rate * KEPT_MS, LEAST_KEPT) };
}

/** Opens the agenda of the lists that had a tick before. What was read last says since when requests are saved. */
export async function openAgenda(engine: Engine, by: Agenda['by'], now: number): Promise<Agenda> {
  const readAt = engine.resources.flatMap(({ entries }) => [...entries.values()].map(entry => entry.readAt ?? 0));
  const since = Math.min(Math.max(now - HOUR, ...readAt), now);
  const pace = refill(startPace(since), now, paceRule(engine, by, false));
  const agenda: Agenda = { by, pace, tasks: new Map(), attempts: new Map(), resizedAt: new Map(), ended: [] };
  const runs = await lastSlotRuns(engine.database.kysely, engine.source);
  for (const resource of engine.resources) {
    const run = runs.get(resource.name);
    if (run && !rests(run.failure)) agenda.tasks.set(resource, agendaTask(resource, run.runId, now));
  }
  return agenda;
}

export const agendaTask = (resource: Resource, runId: string, now: number): Task =>
  createTask({ kind: 'agenda', resource, runId, orderId: null, since: now, lane: 'live', allowance: 0 });
