import { hash } from 'node:crypto';
import { SluiceError } from '../../errors.ts';
import { acceptLosses } from '../../next-steps.ts';
import type { Db } from '../../warehouse/database/database.ts';
import {
  type HeldValues,
  holdValues,
  listHeld,
  noteLoss,
  readFieldLimit,
  releaseHeld,
} from '../../warehouse/rows/held-values.ts';
import type { Row } from '../../warehouse/rows/write-rows.ts';
import { isHeld, lossesOf } from '../deletion/judge-loss.ts';
import type { Step } from '../read/step.ts';
import { placeOf, type Resource } from '../resource.ts';
import type { TransactionEffects } from './transaction-effects.ts';

/**
 * Decides about rows that would empty stored values. Returns them as they are to be written: without the fields that stay as they are.
 * `losing`: the fields of each row, by key.
 */
export async function holdLosses(
  tx: Db,
  effects: TransactionEffects,
  steps: readonly Step[],
  losing: ReadonlyMap<string, readonly string[]>,
): Promise<Row[]> {
  const { resource } = effects;
  if (losing.size === 0 && !resource.holdsValues) return [];
  const place = placeOf(resource);
  const rows = steps.flatMap(step => step.rows);
  const held = new Map<string, readonly string[]>();
  for (const loss of lossesOf(rows, losing)) {
    const { field, keys } = loss;
    const accepted = steps.some(({ task }) => task.acceptLosses.includes(field));
    const limit = await readFieldLimit(tx, resource.table, place, field, keys.length);
    if (isHeld(loss, limit, accepted)) held.set(field, keys);
    else if (!accepted) await noteLoss(tx, place, { field, rows: keys.length, runId: steps[0]?.task.runId ?? null });
  }
  for (const [field, keys] of held) await holdValues(tx, place, field, keys);
  if (resource.holdsValues) {
    const shown = rows.map(({ key }) => key);
    await releaseHeld(tx, place, shown, held);
  }
  if (held.size > 0) {
    const all = await listHeld(tx, place);
    effects.afterCommit.push(() => {
      resource.holdsValues = true;
    });
    // The agenda's questions end no run of their own, at which what is held would be looked at.
    for (const { task } of steps)
      if (task.kind === 'agenda') effects.events.push([task, { kind: 'failed', error: valuesHeld(resource, all) }]);
  }
  return rows.filter(({ key }) => losing.has(key)).map(row => keeping(row, held));
}

/** The row without what stays stored. Its hash must not be that of the record: once the source shows the values again, it is written. */
function keeping(row: Row, held: ReadonlyMap<string, readonly string[]>): Row {
  const fields = [...held].flatMap(([field, keys]) => (keys.includes(row.key) ? field : []));
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
