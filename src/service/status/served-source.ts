import pLimit from 'p-limit';
import type { Usage } from '../../budget/ledger/usage.ts';
import type { AgendaRules } from '../../engine/agenda/list-facts.ts';
import type { Job } from '../../engine/job.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { cursorVersions } from '../../warehouse/ledgers/cursors.ts';
import { countTables } from '../../warehouse/reports/data-tables.ts';

/** Sources inspected at the same time. More would take database connections from the readers. */
const MOST_AT_ONCE = 4;

/** The results of `inspect`, in the order of `sources`. */
export const mapSources = <S, T>(
  sources: readonly S[],
  inspect: (source: S, place: number) => Promise<T>,
): Promise<T[]> => pLimit(MOST_AT_ONCE).map(sources, inspect);

/** One source of this process, as far as the service shows it. */
export interface ServedSource {
  readonly name: string;
  /** The schema that holds its rows. */
  readonly schema: string;
  /** The zone in which people read its times. */
  readonly timeZone: string;
  /** By resource. */
  readonly jobs: ReadonlyMap<string, Job>;
  /** Resources with a schedule. One that is switched off is never overdue, and its incidents would never end. */
  readonly scheduled: readonly string[];
  /** What the settings say about its agenda. */
  readonly rules: AgendaRules;
  usage(): Promise<Usage>;
  /** The next tick of any of its schedules (epoch ms); null without one. */
  nextTickAt(now: number): number | null;
}

/** The source that a program names; where there is only one, it need not. Undefined for another. */
export const sourceAsked = <S extends { readonly name: string }>(
  sources: readonly S[],
  name: string | undefined,
): S | undefined =>
  name === undefined && sources.length === 1 ? sources[0] : sources.find(each => each.name === name);

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
    const keyOf = (resource: string) => `${name} ${resource}`;
    // The versions come first: what is committed after them is counted again. A resource without one was never read.
    const versions =
      given ?? new Map((await cursorVersions(db, [name])).map(({ resource, version }) => [resource, version]));
    const read = [...jobs.keys()].filter(resource => versions.has(resource));
    const changed = read.filter(resource => known.get(keyOf(resource))?.version !== versions.get(resource));
    const counted = await countTables(db, schema, changed);
    for (const [place, resource] of changed.entries())
      known.set(keyOf(resource), { version: versions.get(resource) as string, rows: counted[place] ?? 0 });
    const rowsOf = (resource: string) => (versions.has(resource) ? (known.get(keyOf(resource))?.rows ?? 0) : 0);
    return new Map([...jobs.keys()].map(resource => [resource, rowsOf(resource)]));
  };
}
