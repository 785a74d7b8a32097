import type { Usage } from '../../budget/ledger/usage.ts';
import type { AgendaRules } from '../../engine/agenda/list-facts.ts';
import type { Job } from '../../engine/job.ts';

/** Sources inspected at the same time. More would take database connections from the readers. */
const MOST_AT_ONCE = 4;

/** The results of `inspect`, in the order of `sources`. */
export async function mapSources<S, T>(
  sources: readonly S[],
  inspect: (source: S, place: number) => Promise<T>,
): Promise<T[]> {
  const found: T[] = [];
  for (let first = 0; first < sources.length; first += MOST_AT_ONCE) {
    const some = sources.slice(first, first + MOST_AT_ONCE);
    found.push(...(await Promise.all(some.map((source, place) => inspect(source, first + place)))));
  }
  return found;
}

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
