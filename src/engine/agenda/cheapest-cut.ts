/** Stored rows of one day, and how many of them change in an hour. */
export interface DayRows {
  readonly rows: number;
  readonly rate: number;
}

/** A hint waits for the reading of the window that it points to, so none is longer. */
export const MOST_PAGES_OF_WINDOW = 5;
/** Room for rows that are added before the next cut, in pages. */
const ROOM = 0.03;
/** Where two cuts are alike, that with fewer windows: each costs so many requests more. */
const PER_WINDOW = 0.02;

/** Requests that a window of so many rows takes. */
export const pagesFor = (rows: number, pageSize: number): number => Math.max(Math.ceil(rows / pageSize + ROOM), 1);

/** What reading a window regularly costs, whatever is spent on the list: the delay of all its changes grows with the square of the sum. */
export const rootOf = (rate: number, requests: number): number => Math.sqrt(rate * (requests + PER_WINDOW));

/**
 * Groups consecutive days so that the sum of sqrt(rate * requests) is least, as that is what the mean delay depends on: days go together
 * where that saves a page, and apart where one changes more often than the other. Returns the index of the first day of each group.
 */
export function cheapestCut(days: readonly DayRows[], pageSize: number): number[] {
  const least = [0];
  const starts: number[] = [];
  for (let end = 1; end <= days.length; end++) {
    let best = Number.POSITIVE_INFINITY;
    let start = end - 1;
    for (let from = end - 1, rows = 0, rate = 0; from >= 0; from--) {
      const day = days[from] as DayRows;
      rows += day.rows;
      rate += day.rate;
      const pages = pagesFor(rows, pageSize);
      if (pages > MOST_PAGES_OF_WINDOW && from < end - 1) break;
      const sum = (least[from] as number) + rootOf(rate, pages);
      if (sum < best) {
        best = sum;
        start = from;
      }
    }
    least.push(best);
    starts.push(start);
  }
  const cut: number[] = [];
  for (let end = days.length; end > 0; end = starts[end - 1] as number) cut.unshift(starts[end - 1] as number);
  return cut;
}
