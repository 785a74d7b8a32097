import type { Database } from '../../warehouse/database/database.ts';
import { lastSlotRuns } from '../../warehouse/ledgers/slots.ts';
import type { Pace } from '../agenda/pace.ts';
import type { Attempts } from '../agenda/questions.ts';
import { wasAnswered } from '../coverage/list.ts';
import type { Resource } from '../resource.ts';
import type { Slice } from '../slices/slice.ts';
import { createTask, type Task } from '../task/task.ts';
import { freeFor, type Limit, type LimitSeen, paceRule } from './limit-seen.ts';

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
