import type { Database, Db } from '../../warehouse/database/database.ts';
import { writeCoverage } from '../../warehouse/ledgers/coverage.ts';
import { lockCursor } from '../../warehouse/ledgers/cursors.ts';
import type { CoverageChange } from '../coverage/prove.ts';
import { placeOf, type Resource } from '../resource.ts';
import { sliceText } from '../slices/slice.ts';

/**
 * Changes coverage without a reading, and what is written with it, in one transaction, then in memory. Throws kind `stale` when another
 * process has taken over the list.
 */
export async function commitCoverage(
  database: Database,
  resource: Resource,
  { removed = [], put = [] }: Partial<CoverageChange>,
  also: (tx: Db) => Promise<void> = async () => undefined,
): Promise<void> {
  const place = placeOf(resource);
  await database.transaction(async tx => {
    await lockCursor(tx, place, resource.cursor);
    await writeCoverage(tx, place, removed, put);
    await also(tx);
  });
  for (const slice of removed) resource.entries.delete(sliceText(slice));
  for (const entry of put) resource.entries.set(sliceText(entry.slice), entry);
}
