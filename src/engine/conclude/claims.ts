import { stampMs } from '../../clock.ts';
import type { MissingBefore, MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { coveredSince, type List } from '../coverage/list.ts';
import {
  confirmationOf,
  isInDoubt,
  isLackedByCover,
  type Lack,
  type ListClaims,
  type RowClaims,
  UNCOVERED,
} from '../deletion/is-deleted.ts';
import type { LackedRow } from '../deletion/lag.ts';
import type { Confirmation } from '../profile/strategy.ts';
import { parseSlice } from '../slices/slice.ts';

/** Whether a record that the reading could not read may be this row. */
export type MayBe = (row: LackedRow) => Lack['unreadable'];

/**
 * Claims about rows that a reading of `slice` at `at` (epoch ms) lacks: this reading, and the one that lacked them first.
 * `value`: the one they share, if any.
 */
export function lackClaims(
  rows: readonly LackedRow[],
  before: readonly MissingBefore[],
  { slice, at, half, mayBe }: Pick<Lack, 'slice' | 'at' | 'half'> & { readonly mayBe: MayBe },
  value: string | null = null,
): RowClaims[] {
  const first = new Map(before.map(seen => [seen.key, firstLack(seen)]));
  const readings = new Map(before.map(seen => [seen.key, seen.readings]));
  return rows.map(row => {
    const now: Lack = { slice, at, half, unreadable: mayBe(row) };
    const earlier = first.get(row.key);
    return { key: row.key, value, lacks: earlier ? [earlier, now] : [now], readings: readings.get(row.key) };
  });
}

/** Claims about a missing row: the slice that lacked it first. */
export const rowClaims = (row: MissingRow): RowClaims => ({
  key: row.key,
  value: row.value,
  lacks: [firstLack(row)],
  readings: row.readings,
});

/** How many of these missing rows a cover has lacked since, and nothing else confirms. A cover of ids shows each row's neighbours, too. */
export function lackedByCover(list: List, missing: readonly MissingRow[]): number {
  const by: readonly Confirmation[] = list.strategy.partition === 'id' ? ['cover', 'neighbours'] : ['cover'];
  const doubted = missing.some(row => isInDoubt(row, list.strategy));
  const claims: ListClaims = { ...UNCOVERED, coveredSince: coveredSince(list), doubted };
  const isLacked = (row: MissingRow) =>
    by.includes(confirmationOf(row, list.strategy)) && !row.unreadable && isLackedByCover(rowClaims(row), claims);
  return missing.filter(isLacked).length;
}

const firstLack = ({ slice, since, unreadable, half }: MissingBefore): Lack => ({
  slice: parseSlice(slice),
  at: stampMs(since),
  half,
  unreadable: unreadable ? 'new' : undefined,
});
