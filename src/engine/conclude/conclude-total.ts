import { stampMs } from '../../clock.ts';
import type { Transaction } from '../../warehouse/database/database.ts';
import { sumsOf } from '../../warehouse/rows/stored-rows.ts';
import { compareTotals } from '../coverage/control-totals.ts';
import { monthRange } from '../slices/date-windows.ts';
import type { Ended } from './ended.ts';
import { changeCoverage, remember, resourceIn, type TransactionEffects } from './transaction-effects.ts';

/** Compares the source's totals for a month with those of the stored rows. */
export async function concludeTotal(
  tx: Transaction,
  effects: TransactionEffects,
  { resource, task, slice, end }: Ended<'total'>,
): Promise<void> {
  const { control } = resource.job;
  if (slice.by !== 'total' || task.reportOnly || !control || !resource.dates) return;
  const stored = await sumsOf(tx.alone, resource.table, resource.dates.field, monthRange(slice.month), control.sums);
  const totals = { said: end.said, stored, names: Object.keys(control.sums) };
  const { observed, ...change } = compareTotals(resourceIn(effects), slice, stampMs(end.startedAt), totals);
  if (observed) remember(effects, task, observed);
  changeCoverage(effects, change);
}
