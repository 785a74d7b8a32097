import { SluiceError } from '../../errors.ts';
import { isUnreadableKey } from '../../source/paging/row-key.ts';
import type { Reached } from '../../source/paging/stable-reading.ts';
import type { Transaction } from '../../warehouse/database/database.ts';
import { missingAmong, unmarkMissing } from '../../warehouse/rows/missing-rows.ts';
import { readStoredAt } from '../../warehouse/rows/stored-rows.ts';
import { isListCountDoubted } from '../coverage/hidden-rows.ts';
import { lacksHalf } from '../deletion/is-deleted.ts';
import type { LackedRow } from '../deletion/lag.ts';
import { behindEnd, judgeEnd, type ListEnd } from '../profile/list-end.ts';
import { isContentKeyed, placeOf, type Resource } from '../resource.ts';
import type { Task } from '../task/task.ts';
import { remember, type TransactionEffects } from './transaction-effects.ts';

/** Judges the end that a reading of the list reached. Returns the lacked rows before the end, and those behind it if that is believed. */
export async function settleEnd(
  tx: Transaction,
  effects: TransactionEffects,
  task: Task,
  reached: Reached,
  lacked: readonly LackedRow[],
): Promise<readonly LackedRow[]> {
  const { resource } = effects;
  const { profile } = resource;
  // Each of these rows is asked for by itself before it is deleted.
  if (resource.strategy.confirmation === 'address' && reached.counted) return lacked;
  const keys = lacked.map(({ key }) => key);
  const behind = new Set(behindEnd(keys, reached, profile.order));
  const mayCountTwice = isContentKeyed(resource.table) && profile.ids === 'no';
  const missing = new Set((await missingAmong(tx, placeOf(resource), keys)).map(({ key }) => key));
  // A count that may be wrong agrees with no end.
  const counted = reached.counted && !isListCountDoubted(resource);
  const { end, believed } = judgeEnd(
    profile.end,
    { ...reached, counted },
    {
      order: profile.order,
      left: behind.size,
      half: lacksHalf(keys.length, { rows: keys.length + (reached.rows ?? 0), changed: 0 }),
      newlyLacked: keys.filter(key => !missing.has(key)).length,
      mayCountTwice,
      changedAt: profile.order === 'updated-desc' ? await changeOf(tx, resource, reached) : undefined,
    },
  );
  if (!task.reportOnly)
    remember(effects, task, {
      trait: 'end',
      value: JSON.stringify(end),
      evidence: evidenceOf(end, behind.size),
    });
  if (believed || resource.strategy.confirmation === 'address') return lacked;
  if (end.verdict === 'cut' && resource.strategy.partition !== 'date')
    effects.events.push([task, { kind: 'failed', error: cutAt(resource.name, end) }]);
  if (end.verdict === 'open' && task.state.accepted > 0) return lacked;
  // Whether they are at the source is unknown, unless a window lacks them.
  if (!task.reportOnly && resource.strategy.partition !== 'date')
    await unmarkMissing(tx, placeOf(resource), [...behind]);
  return lacked.filter(({ key }) => !behind.has(key));
}

/** When the last row was stored as it is now (epoch ms). */
async function changeOf(tx: Transaction, { table }: Resource, { rows, last }: Reached): Promise<number | undefined> {
  if (rows === null || isUnreadableKey(last)) return undefined;
  const [stored] = await readStoredAt(tx, table, [last]);
  return stored?.storedAt;
}

const evidenceOf = ({ rows, last }: ListEnd, left: number): string =>
  `it ended with row ${last} after ${rows} rows${left > 0 ? `, and ${left} stored rows lie behind that` : ''}`;

const cutAt = (name: string, { rows }: ListEnd): SluiceError =>
  new SluiceError(
    'failed',
    `The source shows at most ${rows} rows of ${name} without saying so: as many rows dropped off the end as were added. Rows beyond the end are kept unchanged and cannot be checked.`,
    { next: 'What that means, and what can be done: docs/coverage.md, "Lists that are cut off".' },
  );
