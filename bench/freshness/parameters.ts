import { type Counts, sizes } from '../../sandbox/data/data.ts';
import { DAY } from '../../src/clock.ts';

export const LISTS = ['customers', 'invoices', 'transactions'] as const;
export type List = (typeof LISTS)[number];

export function byList<T>(make: (list: List) => T): Record<List, T> {
  return Object.fromEntries(LISTS.map(list => [list, make(list)])) as Record<List, T>;
}

/** *Back-dated*: new with an old date. *Moved*: given another date. */
export const KINDS = ['new', 'paid', 'edited', 'back-dated', 'moved', 'deleted'] as const;
export type Kind = (typeof KINDS)[number];

export const SIZES = { medium: sizes.medium, large: sizes.large, extreme: sizes.extreme } as const satisfies Record<
  string,
  Counts
>;
export type SizeName = keyof typeof SIZES;

/** How often rows of one list change, as a share of its rows. */
export interface ListHabits {
  /** With today's date. The list is as old as this rate explains: 0.0096 a week fills it in two years. */
  readonly newPerWeek: number;
  readonly backDatedPerMonth: number;
  readonly editedPerMonth: number;
  readonly movedPerMonth: number;
  readonly deletedPerMonth: number;
}

export interface StreamParameters {
  /** All changes happen so many times as often. Nothing else differs: time only seems to pass faster at the source. */
  readonly times: number;
  /** Share of edits, moves, deletions and back-dated rows that hit a young row. The others hit any row. */
  readonly youngShare: number;
  /** Mean age of a young row; its age is exponentially distributed. */
  readonly youngDays: number;
  /** Age of the oldest row that still changes. */
  readonly oldestDays: number;
  /** Mean time from the issue of an invoice to its payment, exponentially distributed. */
  readonly paidAfterDays: number;
  readonly lists: Readonly<Record<List, ListHabits>>;
}

export const STREAM: StreamParameters = {
  times: 1,
  youngShare: 0.75,
  youngDays: 12,
  oldestDays: 730,
  paidAfterDays: 17.5,
  lists: {
    customers: {
      newPerWeek: 0.003,
      backDatedPerMonth: 0,
      editedPerMonth: 0.01,
      movedPerMonth: 0,
      deletedPerMonth: 0.001,
    },
    invoices: {
      newPerWeek: 0.0096,
      backDatedPerMonth: 0.002,
      editedPerMonth: 0.02,
      movedPerMonth: 0.002,
      deletedPerMonth: 0.003,
    },
    transactions: {
      newPerWeek: 0.0096,
      backDatedPerMonth: 0.001,
      editedPerMonth: 0.01,
      movedPerMonth: 0.001,
      deletedPerMonth: 0.002,
    },
  },
};

/** Rows of one response, and so of one request. */
export const PAGE_ROWS = 100;
export const REQUESTS_PER_HOUR = 1000;
/** A Monday. */
export const START_MS = Date.UTC(2026, 0, 5);

/** Rows that a list gains each day at `times: 1`: its density. */
export const rowsPerDay = ({ newPerWeek }: ListHabits, count: number): number => (newPerWeek * count) / 7;

export const dayOf = (ms: number): number => Math.floor(ms / DAY);
