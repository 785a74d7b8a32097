import type { Database } from '../../warehouse/database/database.ts';
import type { MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { countQuarantined } from '../../warehouse/rows/quarantine.ts';
import { countRows } from '../../warehouse/rows/stored-rows.ts';
import { type Next, single } from '../agenda/choice.ts';
import { rowClaims } from '../apply/settle-missing.ts';
import { coveredSince } from '../coverage/list.ts';
import { type Held, hiddenRows, mayHideRows } from '../coverage/recount.ts';
import { confirmationOf, isInDoubt, isLackedByCover } from '../deletion/is-deleted.ts';
import { placeOf, type Resource } from '../resource.ts';
import type { Task } from '../task/task.ts';
import type { Engine } from './engine.ts';
import { learn } from './learn.ts';

/**
 * At the end of a task that reads everything: does the source count rows that its windows did not show? `missing`: all missing
 * rows.
 */
export async function recount(engine: Engine, task: Task, missing: readonly MissingRow[]): Promise<Next> {
  const { resource, progress, counted } = task;
  const everything = task.kind === 'sync' || (task.kind === 'verify' && !task.reportOnly);
  if (!everything || !mayHideRows(resource)) return 'done';
  if (resource.total == null && task.kind === 'sync') return 'done';
  const held = await heldRows(engine.database, resource, missing);
  const hidden = hiddenRows(resource, { counted, countAsked: progress.countAsked }, held);
  if (hidden === 'none') return 'done';
  if (hidden === 'ask again') return { ...single({ by: 'newest' }, false), asks: 'count' };
  await learn(engine, resource, hidden);
  // The list is cut differently now.
  return 'blocked';
}

async function heldRows({ kysely }: Database, resource: Resource, missing: readonly MissingRow[]): Promise<Held> {
  const { table, strategy } = resource;
  const { rows } = await countRows(kysely, table, null);
  const quarantined = resource.quarantined ? await countQuarantined(kysely, placeOf(resource), table) : 0;
  const doubted = missing.some(row => isInDoubt(row, strategy));
  const claims = { coveredSince: coveredSince(resource), count: null, doubted };
  const lacked = missing.filter(
    row => confirmationOf(row, strategy) === 'cover' && isLackedByCover(rowClaims(row), claims),
  );
  return { rows, quarantined, lackedByCover: lacked.length };
}
