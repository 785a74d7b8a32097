import { SluiceError } from '../../errors.ts';
import { acceptRewrites, undoRuns } from '../../next-steps.ts';
import type { Db } from '../../warehouse/database/database.ts';
import {
  countReplaced,
  countStored,
  type LatelyChanged,
  noteRewrite,
  type Rewrite,
  readLatelyChanged,
  readReplaced,
  settleRewrites,
} from '../../warehouse/rows/rewrites.ts';
import { lookOf, quoted, rewriteLimitOf } from '../deletion/rewrite.ts';
import { groupBy } from '../group-by.ts';
import { fieldsBesideKey } from '../job.ts';
import { placeOf, type Resource } from '../resource.ts';
import { type Task, update } from '../task/task.ts';

/** Pairs that are looked at to say what a rewrite looks like. */
const MOST_PAIRS = 200;
const MOST_EXAMPLES = 3;

/**
 * At the end of a task: fails it if people would not replace so many values of a field within 24 hours. What was replaced is stored, and can
 * be undone. Each rewrite is told once; one whose values are back has ended.
 */
export async function announceRewrites(db: Db, task: Task): Promise<void> {
  const { resource, reportOnly, runId, acceptLosses } = task;
  if (reportOnly || resource.untoldUpdates > 0) return;
  const { table } = resource;
  const place = placeOf(resource);
  const lately = await readLatelyChanged(db, table, place);
  await endReverted(db, resource, lately);
  const { found, room } = await findRewrites(db, resource, lately);
  for (const rewrite of found)
    await noteRewrite(db, place, rewrite, {
      runId,
      endedBy: acceptLosses.includes(rewrite.field) ? 'accepted' : null,
    });
  resource.untoldUpdates = room;
  const untold = found.filter(({ field }) => !acceptLosses.includes(field));
  if (untold.length > 0) update(task, { kind: 'failed', error: rewritten(resource.name, resource.source, untold) });
}

/** Fields whose values the source has put back as they were. */
async function endReverted(db: Db, resource: Resource, { told }: LatelyChanged): Promise<void> {
  const { table, name } = resource;
  for (const { field, since, stored, endedAt } of told) {
    if (endedAt !== null) continue;
    const counts = await countReplaced(db, table, { resource: name, fields: [field], since });
    if ((counts.get(field) ?? 0) <= limitOf(resource, field, stored))
      await settleRewrites(db, placeOf(resource), [field], 'reverted');
  }
}

const limitOf = ({ job }: Resource, field: string, stored: number): number =>
  rewriteLimitOf(stored, job.rewriteShares[field]);

/** What is beyond its limit and not told yet, and how many more rows may be updated before anything else can be. */
async function findRewrites(
  db: Db,
  resource: Resource,
  { dayAgo, versions, told, declared }: LatelyChanged,
): Promise<{ found: Rewrite[]; room: number }> {
  const { table, name, job } = resource;
  const open = new Set(told.flatMap(({ field, endedAt }) => (endedAt === null ? field : [])));
  // When the source last changed a row changes with each edit.
  const ignored = new Set([...open, ...declared, job.updatedAt]);
  const fields = fieldsBesideKey(job).filter(field => !ignored.has(field));
  const least = rewriteLimitOf(0);
  if (versions <= least || fields.length === 0) return { found: [], room: least - versions + 1 };
  const counts = new Map<string, { rows: number; since: string }>();
  // A field is counted anew once its last rewrite was settled.
  const sinceOf = (field: string) => told.findLast(each => each.field === field)?.endedAt ?? dayAgo;
  for (const [since, group] of groupBy(fields, sinceOf))
    for (const [field, rows] of await countReplaced(db, table, { resource: name, fields: group, since }))
      counts.set(field, { rows, since });
  const many = fields.filter(field => (counts.get(field)?.rows ?? 0) > least);
  const stored = many.length > 0 ? await countStored(db, table, many) : new Map<string, number>();
  const found: Rewrite[] = [];
  // One that is open may be settled by another process at any time.
  let room = open.size > 0 ? least + 1 : Number.POSITIVE_INFINITY;
  for (const [field, { rows, since }] of counts) {
    const limit = limitOf(resource, field, stored.get(field) ?? 0);
    if (rows <= limit) room = Math.min(room, limit - rows + 1);
    else found.push(await describe(db, resource, { field, since, stored: stored.get(field) ?? 0 }));
  }
  return { found, room };
}

async function describe(
  db: Db,
  { name, table }: Resource,
  { field, since, stored }: Pick<Rewrite, 'field' | 'since' | 'stored'>,
): Promise<Rewrite> {
  const replaced = await readReplaced(db, table, { resource: name, field, since, most: MOST_PAIRS });
  const { rows, runIds, pairs } = replaced;
  const examples = pairs.slice(0, MOST_EXAMPLES);
  return { field, rows, stored, looks: lookOf(pairs), examples, runIds, since };
}

/** Why a run fails, and what an incident says, while these are open. */
export function rewritten(list: string, source: string, rewrites: readonly Rewrite[]): SluiceError {
  const runIds = [...new Set(rewrites.flatMap(each => each.runIds))].sort((a, b) => Number(a) - Number(b));
  const fields = rewrites.map(({ field }) => field);
  return new SluiceError('rewrite', rewrites.map(each => rewriteText(list, each)).join(' '), {
    next: `If that is right: ${acceptRewrites(list, fields, source)}. If not, correct the source, then restore what was stored: ${undoRuns(runIds, source)}`,
  });
}

/** What was replaced, how it looks, and examples. */
function rewriteText(list: string, { field, rows, stored, looks, examples }: Rewrite): string {
  const pairs = examples.map(({ before, after }) => `${quoted(before)} became ${quoted(after)}`);
  const look = looks === null ? '' : ` They look like ${looks}.`;
  return `Within 24 hours, ${list}.${field} was replaced in ${rows} of ${stored} rows.${look} Examples: ${pairs.join(', ')}.`;
}
