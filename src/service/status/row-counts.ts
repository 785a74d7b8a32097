import type { Db } from '../../warehouse/database/database.ts';
import { cursorVersions } from '../../warehouse/ledgers/cursors.ts';
import { countTable } from '../../warehouse/reports/measures.ts';
import type { ServedSource } from './served-source.ts';

export type RowCounts = (db: Db, source: ServedSource) => Promise<ReadonlyMap<string, number>>;

/**
 * Counts the rows of tables. A million take 100 ms, so a table is counted again only after a commit has moved its cursor. Rows written by anyone
 * else are seen then.
 */
export function createRowCounts(): RowCounts {
  const known = new Map<string, { readonly version: string; readonly rows: number }>();
  return async (db, { name, schema, jobs }) => {
    const counts = new Map<string, number>();
    // The versions come first: what is committed after them is counted again.
    const versions = await cursorVersions(db, name);
    for (const resource of jobs.keys()) {
      const version = versions.get(resource);
      // Never read.
      if (version === undefined) {
        counts.set(resource, 0);
        continue;
      }
      const key = `${name} ${resource}`;
      const kept = known.get(key);
      const rows = kept?.version === version ? kept.rows : await countTable(db, schema, resource);
      known.set(key, { version, rows });
      counts.set(resource, rows);
    }
    return counts;
  };
}
