import type { Meta } from '../../source/paging/page-count.ts';

/** The source refused to be asked for more rows a page than these, or for fewer. */
export type Refused = 'more' | 'fewer' | undefined;

/** A page of a list as it came. */
export interface ObservedPage {
  readonly page: number;
  /** Rows asked for. */
  readonly limit: number;
  readonly rows: readonly unknown[];
  readonly meta: Meta | undefined;
  readonly refused?: Refused;
  /** The rows are not in the order of the answer. */
  readonly unordered?: true | undefined;
}
