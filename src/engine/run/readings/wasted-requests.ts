/** What a reading has spent and brought so far. */
export interface Spent {
  readonly requests: number;
  /** Answers that showed rows, whether they could be read or not. */
  readonly pages: number;
}

/** Requests per page of rows: an answer that is lost or spoilt is asked for again. */
const PER_PAGE = 4;
/** For the answers that show no row: the end of the list, a failing source. */
const AT_LEAST = 30;

/** A source that makes a reading spend so much more than its rows explain does not do what is known of it. */
export const isWasteful = ({ requests, pages }: Spent): boolean => requests > AT_LEAST + PER_PAGE * pages;
