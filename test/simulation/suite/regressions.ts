import type { Given } from '../plan/plan.ts';

interface Regression {
  readonly seed: number;
  readonly given?: Given;
  readonly was: string;
  /** Takes some twenty seconds or more: `npm run simulate -- --regressions` plays it, `npm test` does not. */
  readonly isSlow?: true;
}

/** Seeds that failed once, and what was wrong. Plans change with `plan.ts`; the variants that mattered are given, too. */
const SEEDS: readonly Regression[] = [
  {
    seed: 11,
    given: { variants: { order: 'date-desc-loose', 'past-end': '404' } },
    was: 'a window whose rows slip between pages at every reading was never proven',
  },
  {
    seed: 14,
    given: { variants: { paging: 'capped', 'transaction-ids': 'no' } },
    was: 'rows without id were counted anew each time the same page came, without end',
  },
  {
    seed: 17,
    given: { variants: { paging: 'ignored', 'limit-max': '20-reject' } },
    was: 'a status list that is cut short was read again without end, and each reading asked for refused page sizes first',
    isSlow: true,
  },
  {
    seed: 32,
    given: { variants: { 'limit-max': 'ignored', order: 'id-asc', undated: 'yes' } },
    was: 'where pages have a fixed size the same interval lacked a row for ever without confirming that it is gone',
  },
  {
    seed: 75,
    given: { variants: { paging: 'ignored', filters: 'ignored', states: 'more' } },
    was: 'a filter that the source ignores was believed, and rows that its first page lacks were deleted',
  },
  {
    seed: 85,
    given: { variants: { paging: 'no-meta', undated: 'yes', states: 'more', none: 'empty' } },
    was: 'rows without a date were not looked for where nothing counts them',
  },
  {
    seed: 213,
    given: { variants: { paging: 'no-meta' } },
    was: 'the end of a list without a count was never found by ids, and its last page passed for the page size',
    isSlow: true,
  },
  {
    seed: 216,
    given: { variants: { paging: 'no-meta', order: 'date-desc-loose' } },
    was: 'rows that slipped between the pages of a list without a count were deleted',
  },
  {
    seed: 320,
    given: { variants: { 'limit-max': '20-reject', order: 'date-desc-loose' } },
    was: 'windows thought to be empty were asked for together for ever, however many rows came',
    isSlow: true,
  },
  {
    seed: 3,
    given: { faults: 'row-twice' },
    was: 'a process that took over and the zombie before it waited for each other in Postgres',
  },
  {
    seed: 5,
    given: { faults: 'empty-list-zero' },
    was: 'lists that came empty by mistake, twice in a row, deleted the rows they should have shown',
  },
  {
    seed: 6,
    given: { faults: 'rows-missing' },
    was: 'pages that lacked rows passed for intervals of ids in which those rows are gone',
    isSlow: true,
  },
  {
    seed: 725,
    given: { variants: { paging: 'capped', cap: '500', 'limit-max': '1000' } },
    was: 'an answer of just 20 rows passed for one cut short, although the list was seen to show more',
  },
  {
    seed: 738,
    given: { variants: { 'limit-max': '20-reject', 'transaction-ids': 'no' } },
    was: 'a sync ended before it knew whether it could afford to read everything again',
  },
  {
    seed: 1028,
    given: { variants: { 'limit-max': 'ignored', order: 'date-desc-loose', filters: 'ignored' } },
    was: 'a day whose rows slip between its two pages was given up after three readings',
    isSlow: true,
  },
  {
    seed: 1039,
    given: { variants: { paging: 'whole', 'transaction-ids': 'no', 'date-filter': 'ignored' } },
    was: 'a list in one body came to be asked for as many rows as it once had, and then looked cut short',
  },
  {
    seed: 1047,
    given: { variants: { 'limit-max': 'ignored', filters: 'ignored', 'past-end': '404' } },
    was: 'an address that counts by another page size than the source showed nothing, and nothing confirmed that a row is gone',
  },
  {
    seed: 1093,
    given: { variants: { 'transaction-ids': 'no', undated: 'yes' } },
    was: 'rows without a date were read once, and changes to them never seen',
  },
  {
    seed: 6059,
    given: { variants: { order: 'date-desc-loose', 'invoice-fields': 'bare', filters: 'ignored' } },
    was: 'a list that can only be read in one piece never confirmed that a row is gone while time stood still',
  },
  {
    seed: 209,
    given: { variants: { paging: 'whole', undated: 'yes' } },
    was: 'a list in one body was taken for one in pages when it came to be cut by ids',
  },
  {
    seed: 20059,
    given: { variants: { 'limit-max': 'ignored', order: 'updated-desc', 'date-filter': 'pair-only' } },
    was: 'an answer that lost its rows, at the very first reading, lacked rows and confirmed it by itself',
  },
  {
    seed: 35,
    given: { variants: { 'date-filter': 'ignored', filters: 'ignored' }, pageSize: 10 },
    was: 'a row that ended the pages of every size near the greatest was asked for again and again, and never what follows it',
    isSlow: true,
  },
  {
    seed: 47,
    given: { variants: { paging: 'meta', order: 'updated-asc' }, pageSize: 10 },
    was: 'a list ordered by its last changes passed for one ordered by id, and an edited row for one that is gone',
  },
  {
    seed: 50,
    given: { variants: { paging: 'ignored', 'date-to': 'exclusive' } },
    was: 'a list that does not turn pages was taken to end where its first page came again, since a row had come in between',
  },
  {
    seed: 63,
    given: { variants: { 'transaction-ids': 'no', 'date-filter': 'pair-only' }, pageSize: 10 },
    was: 'rows that came while windows were read were taken for undated ones, and equal rows on two pages were stored twice',
    isSlow: true,
  },
  {
    seed: 2001,
    given: {
      variants: { paging: 'whole', 'invoice-fields': 'bare', undated: 'yes', filters: 'ignored' },
      pageSize: 10,
    },
    was: 'rows without a date that only the unfiltered list shows were deleted, since no window showed them',
  },
  {
    seed: 585,
    given: { variants: { paging: 'capped', cap: '1000' }, pageSize: 10 },
    was: 'an answer of just as many rows as asked for was taken for cut where answers hold more, so that a row was never proven gone',
  },
  {
    seed: 621,
    given: { variants: { undated: 'yes', 'date-filter': 'pair-only' }, pageSize: 10 },
    was: 'a slice at the end of a long chain of answers was given up after three chains that had not reached it',
    isSlow: true,
  },
  {
    seed: 631,
    given: { variants: { 'transaction-ids': 'no', 'date-to': 'exclusive', fault: 'list-changes' }, pageSize: 10 },
    was: 'a day whose rows had gone was asked for wider, and then doubted again, as if it had not been',
    isSlow: true,
  },
  {
    seed: 150,
    given: { variants: { 'limit-max': '20-reject', 'rate-reset': 'http-date' }, only: true },
    was: "a window and then one customer's list came empty by mistake, though other customers' lists showed the window's rows",
    isSlow: true,
  },
  {
    seed: 1328,
    given: {
      variants: {
        paging: 'no-meta',
        order: 'date-desc-loose',
        'transaction-ids': 'no',
        'extra-fields': 'yes',
        'shared-key': 'yes',
        fault: 'hang-body',
      },
    },
    was: 'equal rows without ids, but for their unknown fields, were written anew whenever they came in another order',
    isSlow: true,
  },
  {
    seed: 215,
    given: { variants: { paging: 'no-meta', order: 'updated-asc' }, pageSize: 10, others: ['tickets', 'products'] },
    was: 'a short last page in the order of changes passed for a range of ids, in one order and then in the other, and rows between were deleted',
    isSlow: true,
  },
  {
    seed: 7016,
    given: {
      variants: { paging: 'no-meta', 'limit-max': 'ignored' },
      only: true,
      pageSize: 10,
      others: ['suppliers', 'users'],
    },
    was: 'where pages were neither counted nor of the size asked for, slices behind the end were asked for again and again',
    isSlow: true,
  },
  {
    seed: 8045,
    given: {
      variants: { paging: 'no-meta', 'limit-max': '1000' },
      only: true,
      pageSize: 10,
      others: ['suppliers', 'users'],
    },
    was: 'in a list without a count that had become shorter, every jump to its end went past it',
    isSlow: true,
  },
  {
    seed: 235,
    given: { variants: { paging: 'capped', 'invoice-fields': 'bare' }, pageSize: 10, others: ['purchases'] },
    was: 'a body that came again with one more row in front passed for a second page, and for a source that keeps to its own size',
    isSlow: true,
  },
  {
    seed: 270,
    given: { variants: { paging: 'whole', fault: 'missing-meta' }, others: ['orders', 'suppliers'] },
    was: 'a list in one body whose reading was killed after its first answer was never found to turn no pages',
  },
  {
    seed: 341,
    given: {
      variants: {
        paging: 'no-meta',
        order: 'shuffled',
        'transaction-ids': 'no',
        'extra-fields': 'yes',
        'other-lists': '405',
      },
    },
    was: 'of rows equal but for their unknown fields the newest end showed one, which took the place of another until its window was read again',
  },
  {
    seed: 359,
    given: {
      variants: { 'limit-max': 'ignored', 'transaction-ids': 'no', 'other-ids': 'no', fault: 'json-502' },
      others: ['tickets', 'purchases'],
    },
    was: 'a reading that ended with a database error kept the only place for an answer, and the process hung',
    isSlow: true,
  },
  {
    seed: 833,
    given: {
      variants: {
        'limit-max': 'ignored',
        order: 'updated-asc',
        'invoice-fields': 'bare',
        'transaction-ids': 'no',
        undated: 'yes',
        filters: 'ignored',
      },
      others: ['orders', 'quotes'],
    },
    was: 'an invoice without a date, which rows do not show, lies in no window, and was taken for gone when all of them lacked it',
    isSlow: true,
  },
  {
    seed: 856,
    given: { variants: { 'past-end': 'empty', order: 'date-desc-loose' }, others: ['suppliers', 'orders'] },
    was: 'the one window that was to conclude what all of them lacked had become too large, and was cut instead',
    isSlow: true,
  },
  {
    seed: 1541,
    given: {
      variants: {
        cap: '100',
        order: 'date-desc-loose',
        'rate-reset': 'epoch-ms',
        'rejected-count': 'no',
        numbers: 'string-ids',
        validation: '422',
      },
      others: ['users', 'purchases'],
    },
    was: 'a last page whose rows had all slipped from the first was taken for paging that is ignored, and the day was given up',
    isSlow: true,
  },
  {
    seed: 1943,
    given: {
      variants: {
        cap: '500',
        'transaction-ids': 'no',
        undated: 'yes',
        timestamps: 'micros',
        'date-to': 'exclusive',
        'date-filter': 'ignored',
        filters: 'ignored',
      },
      others: ['products', 'orders'],
    },
    was: 'rows that were gone led behind the end of a counted list, again and again, and the end itself was never read',
    isSlow: true,
  },
  {
    seed: 1800,
    given: {
      variants: { paging: 'no-meta', 'transaction-ids': 'no', numbers: 'strings' },
      others: ['tickets', 'orders'],
    },
    was: 'the rows to be accepted were counted when the fuse blew, and what the rest of the list lacked came on top',
    isSlow: true,
  },
  {
    seed: 1999,
    given: { variants: { paging: 'no-meta', 'invoice-fields': 'bare', states: 'more' }, others: ['tickets', 'users'] },
    was: 'a page that had lost rows was taken for the longest that the source gives, and nothing longer was noticed',
    isSlow: true,
  },
  {
    seed: 1371,
    given: {
      variants: {
        paging: 'ignored',
        'past-end': 'last-page',
        'rate-headers': 'only-429',
        'retry-after': 'seconds',
        'customer-fields': 'bare',
        'invoice-fields': 'full',
        'extra-fields': 'yes',
        numbers: 'mixed',
        'date-filter': 'honoured',
        states: 'more',
        validation: '409',
        fault: 'empty-list',
      },
      others: ['tickets', 'products'],
    },
    was: 'a window that had lost rows was asked again at once, lost them again, and was not asked any more when the rest was read',
  },
  {
    seed: 1311,
    given: {
      variants: {
        paging: 'no-meta',
        'past-end': 'last-page',
        'limit-max': '20-reject',
        'retry-after': 'http-date',
        'rejected-body': 'json',
        'transaction-ids': 'yes',
        digits: 'double',
        states: 'documented',
        validation: '200',
        fault: 'hang-body',
      },
      others: ['tickets', 'orders'],
    },
    was: 'the last row was edited between the last page and the one past the end, and one row was taken for a full page',
    isSlow: true,
  },
];

/** Most are as they were before there were other lists. */
export const REGRESSIONS = SEEDS.map(each => ({ ...each, given: { others: [], ...each.given } }));
