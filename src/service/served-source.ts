import type { Usage } from '../budget/ledger.ts';
import type { Job } from '../engine/job.ts';

/** Sources looked at side by side; more would take the connections from those who read. */
const SIDE_BY_SIDE = 4;

/** What `look` finds in each of the sources, in their order. */
export async function ofEach<T>(
  sources: readonly ServedSource[],
  look: (source: ServedSource) => Promise<T>,
): Promise<T[]> {
  const found: T[] = [];
  for (let first = 0; first < sources.length; first += SIDE_BY_SIDE)
    found.push(...(await Promise.all(sources.slice(first, first + SIDE_BY_SIDE).map(look))));
  return found;
}

/** One source of this process, as far as the service shows it. */
export interface ServedSource {
  readonly name: string;
  /** Where its rows are. */
  readonly schema: string;
  /** The zone its people think in. */
  readonly timeZone: string;
  /** By resource. */
  readonly jobs: ReadonlyMap<string, Job>;
  /** The resources that its schedule has read. Of one that is switched off nothing is missed, and no trouble would ever end. */
  readonly scheduled: readonly string[];
  usage(): Promise<Usage>;
}
