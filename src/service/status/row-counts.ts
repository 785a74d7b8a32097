import type { Database } from '../../warehouse/database/database.ts';
import { cursorVersions } from '../../warehouse/ledgers/cursors.ts';
import { countTables } from '../../warehouse/reports/measures.ts';
import type { ServedSource } from './served-source.ts';

/** `versions`: those of the source's cursors, where they are known already. */
export type RowCounts = (
  source: Pick<ServedSource, 'name' | 'schema' | 'jobs'>,
  versions?: ReadonlyMap<string, string>,
) => Promise<ReadonlyMap<string, number>>;

/**
 * Counts the rows of tables. A million take 100 ms, so a table is counted again only after a commit has moved its cursor. Rows written by anyone
 * else are seen then.
 */
export function createRowCounts({ kysely: db }: Database): RowCounts {
  const known = new Map<string, { readonly version: string; readonly rows: number }>();
  return async ({ name, schema, jobs }, given) => {
    const counts = new Map<string, number>();
    // The versions come first: what is committed after them is counted again.
    const versions =
      given ?? new Map((await cursorVersions(db, [name])).map(({ resource, version }) => [resource, version]));
    const changed = [];
    for (const resource of jobs.keys()) {
      const version = versions.get(resource);
      const kept = known.get(`${name} ${resource}`);
      // Never read.
      if (version === undefined) counts.set(resource, 0);
      else if (kept?.version === version) counts.set(resource, kept.rows);
      else changed.push({ resource, version });
    }
    const counted = await countTables(
      db,
      schema,
      changed.map(({ resource }) => resource),
    );
    changed.forEach(({ resource, version }, place) => {
      const rows = counted[place] ?? 0;
      known.set(`${name} ${resource}`, { version, rows });
      counts.set(resource, rows);
    });
    return counts;
  };
}
