import { hash } from 'node:crypto';
import { SluiceError } from '../../errors.ts';
import { acceptLosses } from '../../next-steps.ts';
import type { Db } from '../../warehouse/database/database.ts';
import {
  type HeldValue,
  type HeldValues,
  heldAmong,
  holdValues,
  noteLoss,
  readFieldLimit,
  releaseHeld,
} from '../../warehouse/rows/held-values.ts';
import type { Row } from '../../warehouse/rows/write-rows.ts';
import { collapses, holdsField, isBeyondLimit, type Loss, lossesOf } from '../deletion/judge-loss.ts';
import type { Step } from '../read/step.ts';
import { placeOf, type Resource } from '../resource.ts';
import type { TransactionEffects } from './transaction-effects.ts';

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
  const ended: HeldValue[] = [];
  for (const loss of lossesOf(rows, losing)) {
    const { field, keys } = loss;
    if (resource.acceptedLosses.has(field)) {
      ended.push(...keys.map(key => ({ field, key })));
      continue;
    }
    // What is held stays so until the source shows it again, or somebody accepts the loss.
    const known = resource.heldFields.has(field) ? await heldAmong(tx, place, field, keys) : new Set<string>();
    const fresh = { ...loss, keys: keys.filter(key => !known.has(key)), held: known.size };
    if (fresh.keys.length > 0 && (collapses(fresh) || (await isBeyond(tx, resource, fresh))))
      await holdValues(tx, place, field, fresh.keys);
    else {
      if (fresh.keys.length > 0)
        await noteLoss(tx, place, { field, rows: fresh.keys.length, runId: steps[0]?.task.runId ?? null });
      if (known.size > 0) held.set(field, known);
      continue;
    }
    held.set(field, new Set(keys));
  }
  for (const field of resource.heldFields)
    for (const row of rows)
      if (holdsField(row, field) && !refused.has(row.key) && !held.get(field)?.has(row.key))
        ended.push({ field, key: row.key });
  await releaseHeld(tx, place, ended);
  const fields = [...held.keys()].filter(field => !resource.heldFields.has(field));
  if (fields.length > 0)
    afterCommit.push(() => {
      resource.heldFields = new Set([...resource.heldFields, ...fields]);
    });
  return rows.filter(({ key }) => losing.has(key)).map(row => keeping(row, held));
}

const isBeyond = async (tx: Db, resource: Resource, { field, keys }: Loss): Promise<boolean> =>
  isBeyondLimit(keys.length, await readFieldLimit(tx, resource.table, placeOf(resource), field, keys.length));

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
