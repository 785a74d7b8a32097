import type { Counts } from '../../warehouse/ledgers/runs.ts';
import type { End, Step } from '../read/step.ts';

/** What writing the rows of a step did. */
export interface Written {
  /** Keys of new or different rows. */
  readonly changed: ReadonlySet<string>;
  readonly counts: Counts;
  /** Keys of stored rows that the answer, which lacks fields, shows otherwise. */
  readonly outdated: readonly string[];
}

/** The last step of a reading, with the keys of all that the reading showed. */
export type Ended<K extends End['kind'] = End['kind']> = Step & {
  readonly end: Extract<End, { kind: K }>;
  readonly seen: readonly string[];
  /** Those of records whose id could not be read: each may be any row. */
  readonly unreadable: readonly string[];
};
