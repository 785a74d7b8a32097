import { databaseNow } from '../../../warehouse/database/now.ts';
import { writeCoverage } from '../../../warehouse/ledgers/coverage.ts';
import { failEndedRun } from '../../../warehouse/ledgers/runs.ts';
import { dueAfterFailure } from '../../coverage/prove.ts';
import { placeOf } from '../../resource.ts';
import { sliceText } from '../../slices/slice.ts';
import { distrustCounts } from '../distrust-counts.ts';
import type { Loop } from '../engine.ts';
import type { Asked } from './agenda.ts';

/**
 * A question of the agenda was asked. If it made its list fail, the run of the last tick says so, and the slice is due: the next tick
 * reads it again, and fails if that still does.
 */
export async function settle({ engine }: Loop, { task, slice, failure: before }: Asked): Promise<void> {
  await distrustCounts(engine, task);
  const { failure, resource, runId } = task;
  if (failure === null || failure === before) return;
  const { kind, message: reason, next } = failure;
  const { database } = engine;
  await failEndedRun(database.kysely, runId, { reason, next, failure: kind });
  const { put } = dueAfterFailure(resource, slice, await databaseNow(database), reason);
  await writeCoverage(database.kysely, placeOf(resource), [], put);
  for (const entry of put) resource.entries.set(sliceText(entry.slice), entry);
  engine.onEvent?.({ kind: 'ended', task, state: 'failed' });
}
