import type { MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { listMissing } from '../../warehouse/rows/missing-rows.ts';
import { placeOf, type Resource } from '../resource.ts';
import type { Engine } from './engine.ts';

/** The missing rows of a list, as of its last commit: with older ones, a task could end without confirming what has just gone missing. */
export async function knownMissing(
  { database }: Pick<Engine, 'database'>,
  resource: Resource,
): Promise<readonly MissingRow[]> {
  while (resource.holdsMissing && resource.missing === null) {
    const { cursor } = resource;
    const rows = await listMissing(database.kysely, placeOf(resource), resource.table, resource.strategy.relatedBy);
    // Not kept if a commit came in between: they would be older than the coverage.
    if (resource.cursor === cursor) resource.missing = rows;
  }
  return resource.missing ?? [];
}
