import type { Job } from '../engine/job.ts';
import type { Usage } from '../warehouse/ledger.ts';

/** One source of this process, as far as the service shows it. */
export interface ServedSource {
  readonly name: string;
  /** Where its rows are. */
  readonly schema: string;
  /** The zone its people think in. */
  readonly timeZone: string;
  /** By resource. */
  readonly jobs: ReadonlyMap<string, Job>;
  usage(): Promise<Usage>;
}
