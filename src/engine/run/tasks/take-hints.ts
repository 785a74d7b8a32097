import type { Database } from '../../../warehouse/database/database.ts';
import { dueHints, takeHints } from '../../../warehouse/ledgers/hints.ts';
import { startRun } from '../../../warehouse/ledgers/runs.ts';
import { sliceCondition } from '../../../warehouse/rows/slice-condition.ts';
import { countRows, valuesOf } from '../../../warehouse/rows/stored-rows.ts';
import { pageSize, partition } from '../../coverage/list.ts';
import type { Resource } from '../../resource.ts';
import { dayIn, holds } from '../../slices/date-windows.ts';
import { type Slice, sliceText } from '../../slices/slice.ts';
import { createTask, failList, type Task } from '../../task/task.ts';
import type { Engine, Loop } from '../engine.ts';

/** Requests that one task for hints may spend. */
const ALLOWANCE = 10;
/** Pages of rows that share a value (an invoice's customer). Beyond this, a window is narrower. */
const MOST_VALUE_PAGES = 3;

/** Creates tasks for due hints, one per resource. */
export async function takeHinted(loop: Loop, now: number): Promise<Task[]> {
  const { engine, tasks } = loop;
  const { database, source } = engine;
  const begun: Task[] = [];
  for (const name of await dueHints(database.kysely, source, engine)) {
    const resource = engine.resources.find(each => each.name === name);
    if (tasks.some(task => task.kind === 'hint' && task.resource === resource)) continue;
    const hints = await takeHints(database.kysely, { source, resource: name });
    if (!resource) continue;
    const found = await targetsOf(engine, resource, hints, now).catch((error: unknown) => ({ error }));
    const targets = 'error' in found ? [] : found;
    if (!('error' in found) && targets.length === 0) continue;
    const started = { source, resource: name, kind: 'hint', orderId: null, slotAt: null };
    const runId = await startRun(database.kysely, started);
    const given = { kind: 'hint', resource, runId, orderId: null, since: now, lane: 'live' } as const;
    const task = createTask(given, { allowance: ALLOWANCE, targets });
    if ('error' in found) failList(engine, task, found.error);
    begun.push(task);
  }
  return begun;
}

/** The narrowest slices that show the rows hinted at. A row that is not stored is sought at the newest end. */
async function targetsOf(engine: Engine, resource: Resource, hints: readonly Slice[], now: number): Promise<Slice[]> {
  const parts = partition(resource).filter(entry => entry.provenAt !== null);
  // The first sync reads everything anyway, newest first.
  if (parts.length === 0) return [];
  const { database } = engine;
  const found = new Map<string, Slice>();
  const add = (slice: Slice) => found.set(sliceText(slice), slice);
  const days = new Set<string>();
  const field = resource.strategy.relatedBy;
  let grown = hints.some(hint => hint.by === 'newest');
  for (const hint of hints) {
    if (
      hint.by === 'value' &&
      !resource.profile.ignoredFilters.has(hint.field) &&
      (await isNarrow(database, resource, hint))
    )
      add(hint);
    if (hint.by !== 'one') continue;
    const ofRow = async (column: string) => {
      const [value] = (await valuesOf(database.kysely, resource.table, column, [hint.key])).values();
      return value;
    };
    if ((await ofRow(resource.table.id.name)) === undefined) {
      grown = true;
      continue;
    }
    const value = field === null ? undefined : await ofRow(field);
    const narrow: Slice | null = field === null || value === undefined ? null : { by: 'value', field, value };
    if (narrow && (await isNarrow(database, resource, narrow))) add(narrow);
    else if (resource.strategy.partition === 'id') add({ by: 'id', from: BigInt(hint.key), to: BigInt(hint.key) });
    else if (resource.dates) {
      const day = await ofRow(resource.dates.field);
      if (day !== undefined) days.add(day);
    }
  }
  // In a list without order, new rows can be anywhere; a new row is usually dated today.
  if (grown && resource.profile.order === 'none') days.add(dayIn(now, engine.timeZone));
  for (const { slice } of parts) if (slice.by === 'date' && [...days].some(day => holds(slice, day))) add(slice);
  if (!grown) return [...found.values()];
  if (resource.strategy.partition !== 'id') add({ by: 'newest' });
  for (const { slice } of parts) if (slice.by === 'id' && slice.to === null) add(slice);
  return [...found.values()];
}

async function isNarrow(database: Database, resource: Resource, slice: Slice): Promise<boolean> {
  const { rows } = await countRows(database.kysely, resource.table, sliceCondition(slice, resource.table, undefined));
  return rows <= MOST_VALUE_PAGES * pageSize(resource);
}
