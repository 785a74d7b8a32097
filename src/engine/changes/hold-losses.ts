import { hash } from 'node:crypto';
import { isKind, SluiceError } from '../../errors.ts';
import { acceptLosses } from '../../next-steps.ts';
import type { Db } from '../../warehouse/database/database.ts';
import { readRowLossLimit, withinRowLossLimit } from '../../warehouse/rows/delete-rows.ts';
import {
  type HeldValues,
  heldAmong,
  holdValues,
  listHeld,
  noteLoss,
  readFieldLimit,
  releaseHeld,
} from '../../warehouse/rows/held-values.ts';
import type { Row } from '../../warehouse/rows/write/row.ts';
import { heldBack } from '../conclude/remove-rows.ts';
import type { TransactionEffects } from '../conclude/transaction-effects.ts';
import { collapses, holdsField, isBeyondLimit, type Loss, lossesOf } from '../deletion/judge-loss.ts';
import type { Step } from '../read/step.ts';
import { placeOf, type Resource } from '../resource.ts';
import { type Task, update } from '../task/task.ts';

/**
 * Decides about rows that would empty stored values. Returns them as they are to be written: without the fields that stay as they are.
 * `losing`: the fields of each row, by key. `refused`: rows that could not be stored.
 */
export async function holdLosses(
  tx: Db,
  { resource, afterCommit }: TransactionEffects,
  steps: readonly Step[],
  { losing, refused }: { losing: ReadonlyMap<string, readonly string[]>; refused: { has(key: string): boolean } },
): Promise<Row[]> {
  if (losing.size === 0 && resource.heldFields.size === 0) return [];
  const place = placeOf(resource);
  const rows = steps.flatMap(step => step.rows);
  const held = new Map<string, ReadonlySet<string>>();
  for (const loss of lossesOf(rows, losing)) {
    const kept = await judge(tx, resource, loss, steps[0]?.task.runId ?? null);
    if (kept.size > 0) held.set(loss.field, kept);
  }
  const isOver = (row: Row, field: string) =>
    !refused.has(row.key) &&
    !held.get(field)?.has(row.key) &&
    (holdsField(row, field) || resource.acceptedLosses.has(field));
  const ended = [...resource.heldFields].flatMap(field =>
    rows.filter(row => isOver(row, field)).map(({ key }) => ({ field, key })),
  );
  await releaseHeld(tx, place, ended);
  const fields = [...held.keys()].filter(field => !resource.heldFields.has(field));
  if (fields.length > 0)
    afterCommit.push(() => {
      resource.heldFields = new Set([...resource.heldFields, ...fields]);
    });
  return rows.filter(({ key }) => losing.has(key)).map(row => keeping(row, held));
}

/** The rows that keep what is stored in the field. What is held stays so until the source shows it again, or somebody accepts the loss. */
async function judge(tx: Db, resource: Resource, loss: Loss, runId: string | null): Promise<ReadonlySet<string>> {
  const { field, keys } = loss;
  const place = placeOf(resource);
  if (resource.acceptedLosses.has(field)) return new Set();
  const known = resource.heldFields.has(field) ? await heldAmong(tx, place, field, keys) : new Set<string>();
  const fresh = keys.filter(key => !known.has(key));
  if (fresh.length === 0) return known;
  const isBeyond = async () =>
    isBeyondLimit(fresh.length, await readFieldLimit(tx, resource.table, place, field, fresh.length));
  // The limit may count the whole table, so it comes last.
  if (collapses({ ...loss, keys: fresh, held: known.size }) || (await isBeyond())) {
    await holdValues(tx, place, field, fresh);
    return new Set(keys);
  }
  await noteLoss(tx, place, { field, rows: fresh.length, runId });
  return known;
}

/** The row without what stays stored. Its hash must not be that of the record: once the source shows the values again, it is written. */
function keeping(row: Row, held: ReadonlyMap<string, ReadonlySet<string>>): Row {
  const fields = [...held].flatMap(([field, keys]) => (keys.has(row.key) ? field : [])).sort();
  if (fields.length === 0) return row;
  const rest = <T>(given: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(given).filter(([name]) => !fields.includes(name)));
  const digest = row.hash === null ? null : hash('sha256', `${row.hash} without ${fields.join()}`).slice(0, 32);
  return { ...row, values: rest(row.values), children: rest(row.children), hash: digest };
}

/** Why a run fails while values are held. */
export function valuesHeld({ name, source }: Resource, held: readonly HeldValues[]): SluiceError {
  const fields = held.map(({ field, rows }) => `${field} in ${rows === 1 ? '1 row' : `${rows} rows`}`).join(', ');
  return new SluiceError('fuse', `The source shows ${name} without what is stored: ${fields}. That stays as it is.`, {
    next: `It ends by itself once the source shows it again. If it is really gone: ${acceptLosses(
      name,
      held.map(({ field }) => field),
      source,
    )}`,
  });
}

/**
 * Looks again at the end of a task at what may not be lost: more rows may be missing by now, and the number to accept must be enough; values
 * that were held may be shown again.
 */
export async function lookAtHeld(db: Db, task: Task): Promise<void> {
  const { resource, state, wasHeldBack, reportOnly } = task;
  const isHeldBack = state.failure === null ? wasHeldBack : isKind(state.failure, 'fuse');
  if (isHeldBack) {
    const limit = await readRowLossLimit(db, resource.table, placeOf(resource));
    if (!withinRowLossLimit(limit, { count: limit.missing, accepted: 0 }))
      update(task, { kind: 'held back', error: heldBack(resource, limit) });
  }
  if (resource.heldFields.size === 0 || reportOnly || task.state.failure !== null) return;
  const { cursor } = resource;
  const held = await listHeld(db, placeOf(resource));
  // Unless a commit has held more in the meantime.
  if (resource.cursor === cursor) resource.heldFields = new Set(held.map(({ field }) => field));
  if (held.length > 0) update(task, { kind: 'held back', error: valuesHeld(resource, held) });
}
