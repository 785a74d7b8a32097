import type { Given } from '../plan/plan.ts';

interface Regression {
  readonly seed: number;
  readonly given?: Given;
  /** Completes "it once failed: ..". */
  readonly was: string;
}

/** Seeds that once failed, and why; `npm run simulate -- --regressions` plays them. A seed's plan changes with `plan.ts`, so the variants that mattered are fixed too. */
const SEEDS: readonly Regression[] = [
  {
    seed: 11,
    given: { variants: { order: 'date-desc-loose', 'past-end': '404' } },
    was: 'a window whose rows move between pages at every reading was never proven',
  },
  {
    seed: 14,
    given: { variants: { paging: 'capped', 'transaction-ids': 'no' } },
    was: 'rows without ids were counted again each time the same page was returned, without end',
  },
  {
    seed: 17,
    given: { variants: { paging: 'ignored', 'limit-max': '20-reject' } },
    was: 'a truncated status list was read again without end, and each reading first asked for page sizes that the source rejects',
  },
  {
    seed: 32,
    given: { variants: { 'limit-max': 'ignored', order: 'id-asc', undated: 'yes' } },
    was: 'with a fixed page size, the same interval lacked a row at every reading, but its deletion was never confirmed',
  },
  {
    seed: 75,
    given: { variants: { paging: 'ignored', filters: 'ignored', states: 'more' } },
    was: 'a filter that the source ignores was trusted, and rows absent from its first page were deleted',
  },
  {
    seed: 85,
    given: { variants: { paging: 'no-meta', undated: 'yes', states: 'more', none: 'empty' } },
    was: 'rows without a date were not searched for in lists without a count',
  },
  {
    seed: 149,
    given: { variants: { totals: 'unfiltered', 'transaction-ids': 'no', 'date-filter': 'pair-only' } },
    was: 'a sync failed for days that it had given up and proved later on',
  },
  {
    seed: 213,
    given: { variants: { paging: 'no-meta' } },
    was: 'the end of a list without a count was never found by ids, and its last page was taken for the page size',
  },
  {
    seed: 216,
    given: { variants: { paging: 'no-meta', order: 'date-desc-loose' } },
    was: 'rows that moved between the pages of a list without a count were deleted',
  },
  {
    seed: 320,
    given: { variants: { 'limit-max': '20-reject', order: 'date-desc-loose' } },
    was: 'windows presumed empty were requested together forever, however many rows they returned',
  },
  {
    seed: 3,
    given: { faults: 'row-twice' },
    was: 'a process that took over and the zombie before it deadlocked in Postgres',
  },
  {
    seed: 5,
    given: { faults: 'empty-list-zero' },
    was: 'lists that were empty by mistake, twice in a row, deleted the rows they should have shown',
  },
  {
    seed: 6,
    given: { faults: 'rows-missing' },
    was: 'pages that lacked rows were taken as proof that the ids between their first and last row do not exist',
  },
  {
    seed: 710,
    given: { variants: { paging: 'capped', cap: '100', order: 'date-desc', 'date-filter': 'pair-only' } },
    was: 'an answer without every second row of 75 lacked less than half, so two rows that moved a day later were deleted',
  },
  {
    seed: 725,
    given: { variants: { paging: 'capped', cap: '500', 'limit-max': '1000' } },
    was: 'a response of exactly 20 rows was taken for a truncated one, although the list had shown more before',
  },
  {
    seed: 738,
    given: { variants: { 'limit-max': '20-reject', 'transaction-ids': 'no' } },
    was: 'a sync ended before it knew whether it could afford to read everything again',
  },
  {
    seed: 1028,
    given: { variants: { 'limit-max': 'ignored', order: 'date-desc-loose', filters: 'ignored' } },
    was: 'a day whose rows move between its two pages was given up after three readings',
  },
  {
    seed: 1039,
    given: { variants: { paging: 'whole', 'transaction-ids': 'no', 'date-filter': 'ignored' } },
    was: 'a list returned in one response was requested with its former row count as the limit, and then looked truncated',
  },
  {
    seed: 1047,
    given: { variants: { 'limit-max': 'ignored', filters: 'ignored', 'past-end': '404' } },
    was: 'an address computed with another page size than the source uses showed nothing, and no deletion was confirmed',
  },
  {
    seed: 1093,
    given: { variants: { 'transaction-ids': 'no', undated: 'yes' } },
    was: 'rows without a date were read once, and later changes to them were never seen',
  },
  {
    seed: 6059,
    given: { variants: { order: 'date-desc-loose', 'invoice-fields': 'bare', filters: 'ignored' } },
    was: 'a list that can only be read as a whole never confirmed a deletion while time stood still',
  },
  {
    seed: 209,
    given: { variants: { paging: 'whole', undated: 'yes' } },
    was: 'a list returned in one response was taken for a paged one once it was split by ids',
  },
  {
    seed: 20059,
    given: { variants: { 'limit-max': 'ignored', order: 'updated-desc', 'date-filter': 'pair-only' } },
    was: 'a response that had lost rows, at the very first reading, reported rows missing and confirmed that itself',
  },
  {
    seed: 35,
    given: { variants: { 'date-filter': 'ignored', filters: 'ignored' }, pageSize: 10 },
    was: 'a row that ended the pages of every size near the largest was requested again and again, and the row after it never',
  },
  {
    seed: 47,
    given: { variants: { paging: 'meta', order: 'updated-asc' }, pageSize: 10 },
    was: 'a list ordered by last change was taken for one ordered by id, and an edited row for a deleted one',
  },
  {
    seed: 50,
    given: { variants: { paging: 'ignored', 'date-to': 'exclusive' } },
    was: 'a list that ignores the page parameter was taken to end where its first page was repeated, because a row had been added in between',
  },
  {
    seed: 63,
    given: { variants: { 'transaction-ids': 'no', 'date-filter': 'pair-only' }, pageSize: 10 },
    was: 'rows added while windows were read were taken for undated rows, and equal rows on two pages were stored twice',
  },
  {
    seed: 2001,
    given: {
      variants: { paging: 'whole', 'invoice-fields': 'bare', undated: 'yes', filters: 'ignored' },
      pageSize: 10,
    },
    was: 'rows without a date that only the unfiltered list shows were deleted because no window showed them',
  },
  {
    seed: 585,
    given: { variants: { paging: 'capped', cap: '1000' }, pageSize: 10 },
    was: 'a response with exactly as many rows as requested was taken for a truncated one, so that no deletion was ever proven',
  },
  {
    seed: 621,
    given: { variants: { undated: 'yes', 'date-filter': 'pair-only' }, pageSize: 10 },
    was: 'a slice at the end of a long chain of responses was given up after three chains that had not reached it',
  },
  {
    seed: 631,
    given: { variants: { 'transaction-ids': 'no', 'date-to': 'exclusive', fault: 'list-changes' }, pageSize: 10 },
    was: 'a day whose rows had been deleted was requested with wider bounds, and then doubted again as if it had not been',
  },
  {
    seed: 150,
    given: { variants: { 'limit-max': '20-reject', 'rate-reset': 'http-date' }, only: true },
    was: "a window and then one customer's list were empty by mistake, although other customers' lists showed the rows of the window",
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
    was: 'rows without ids, equal except for their unknown fields, were rewritten whenever their order changed',
  },
  {
    seed: 215,
    given: { variants: { paging: 'no-meta', order: 'updated-asc' }, pageSize: 10, others: ['tickets', 'products'] },
    was: 'a short last page of a list in order of change was taken for a range of ids, ascending and then descending, and rows between were deleted',
  },
  {
    seed: 7016,
    given: {
      variants: { paging: 'no-meta', 'limit-max': 'ignored' },
      only: true,
      pageSize: 10,
      others: ['suppliers', 'users'],
    },
    was: 'where pages were neither counted nor of the requested size, slices past the end were requested again and again',
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
  },
  {
    seed: 235,
    given: { variants: { paging: 'capped', 'invoice-fields': 'bare' }, pageSize: 10, others: ['purchases'] },
    was: 'a response repeated with one more row in front was taken for a second page, from a source that ignores the limit',
  },
  {
    seed: 270,
    given: { variants: { paging: 'whole', fault: 'missing-meta' }, others: ['orders', 'suppliers'] },
    was: 'a list returned in one response, whose reading was killed after the first response, was never found to be unpaged',
  },
  {
    seed: 443,
    given: {
      variants: {
        totals: 'unfiltered',
        'null-rows': 'yes',
        charset: 'broken',
        cap: '500',
        'past-end': 'last-page',
        'rate-reset': 'epoch-s',
        'rate-headers': 'only-429',
        'retry-after': 'http-date',
        'rejected-count': 'no',
        'invoice-fields': 'bare',
        'transaction-ids': 'no',
        'other-ids': 'yes',
        'extra-fields': 'no',
        'date-filter': 'ignored',
        validation: '422',
        visible: 'all',
      },
    },
    was: "a customer's list was counted with all rows and repeated its only page, so it never confirmed that an invoice was deleted",
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
    was: 'of rows equal except for their unknown fields, the newest end showed one that replaced another until its window was read again',
  },
  {
    seed: 359,
    given: {
      variants: { 'limit-max': 'ignored', 'transaction-ids': 'no', 'other-ids': 'no', fault: 'json-502' },
      others: ['tickets', 'purchases'],
    },
    was: 'a reading that ended with a database error kept the only slot for a response, and the process hung',
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
    was: 'an undated invoice, in a list that hides dates, lies in no window and was taken for deleted when every window lacked it',
  },
  {
    seed: 856,
    given: { variants: { 'past-end': 'empty', order: 'date-desc-loose' }, others: ['suppliers', 'orders'] },
    was: 'the one window left to confirm what all the others lacked had become too large, and was split instead',
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
    was: 'a last page whose rows had all moved to the first page was taken as a sign that paging is ignored, and the day was given up',
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
    was: 'deleted rows led past the end of a counted list, again and again, and the end itself was never read',
  },
  {
    seed: 1800,
    given: {
      variants: { paging: 'no-meta', 'transaction-ids': 'no', numbers: 'strings' },
      others: ['tickets', 'orders'],
    },
    was: 'the number of deletions to accept was counted when the loss limit was reached, before the rest of the list was read',
  },
  {
    seed: 1999,
    given: { variants: { paging: 'no-meta', 'invoice-fields': 'bare', states: 'more' }, others: ['tickets', 'users'] },
    was: 'a page that had lost rows was taken for the largest that the source returns, and larger ones went unnoticed',
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
    was: 'a window that had lost rows was read again at once, lost them again, and was not read once the rest of the list had been',
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
    was: 'the last row was edited between the last page and the page past the end, and one row was taken for a full page',
  },
  {
    seed: 1360,
    given: {
      variants: { totals: 'doubled', stale: 'cache', 'past-end': '404', 'limit-max': 'ignored' },
      others: ['users', 'quotes'],
    },
    was: 'a row that moved between windows while they were read side by side was deleted: one had it no more, the other not yet',
  },
  {
    seed: 7003,
    given: { variants: { 'new-ids': 'reissued' }, others: ['purchases', 'tickets'] },
    was: 'the history of a deleted row was removed when another record took its id',
  },
  {
    seed: 904,
    given: { variants: { ids: 'edge' }, others: ['products', 'purchases'] },
    was: 'records in quarantine, which the source counts, kept a deleted invoice whose list shows no dates',
  },
  {
    seed: 5105,
    given: { others: ['purchases', 'financial_summaries'], putBack: true },
    was: 'the simulation let a month begin by the clock of the source only, and missed its summary',
  },
  {
    seed: 5121,
    given: { others: ['orders', 'users'], pageSize: 500 },
    was: 'each reading first asked for the page size of the settings, which the source rejects',
  },
  {
    seed: 1365,
    given: { others: ['users'] },
    was: 'an empty list that shows null whatever is asked for was cut into the days of ten thousand years',
  },
  {
    seed: 1710,
    given: {
      variants: { 'count-values': 'fraction', order: 'shuffled', 'other-ids': 'yes', fault: 'moved-total' },
      others: ['tickets', 'users'],
    },
    was: 'days that changed as fast as they were read were read in eight passes each, and each deletion on the edge of a window had the rest tried again',
  },
  {
    seed: 1095,
    given: {
      variants: {
        pages: 'thinned',
        'behind-end': 'first-page',
        order: 'updated-asc',
        'null-rows': 'two',
        'new-ids': 'fresh',
      },
    },
    was: 'a counted list whose short first page promised too many pages was read again and again behind its end',
  },
  {
    seed: 1685,
    given: {
      variants: {
        pages: 'thinned',
        order: 'id-asc',
        'transaction-ids': 'no',
        'date-filter': 'ignored',
        filters: 'ignored',
      },
    },
    was: 'pages that became shorter and shorter were not seen to be thinned, and rows stayed behind them',
  },
  {
    seed: 1700,
    given: {
      variants: { pages: 'thinned', paging: 'whole', 'limit-max': '20-reject', order: 'date-desc', filters: 'ignored' },
    },
    was: 'an empty answer for the first two rows proved that a list of many is empty',
  },
  {
    seed: 1748,
    given: { variants: { 'behind-end': 'first-page', backdated: 'none', paging: 'no-meta', states: 'more' } },
    was: 'a list without a count that begins again behind its end failed for ever',
  },
  {
    seed: 1701,
    given: { variants: { drafts: 'hidden', paging: 'whole', 'transaction-ids': 'no' } },
    was: 'rows without ids that the date filter leaves out were deleted at each sync, and came back',
  },
  {
    seed: 341,
    given: { variants: { 'transaction-ids': 'no', order: 'shuffled', paging: 'no-meta', 'extra-fields': 'yes' } },
    was: 'equal rows without an id swapped their unknown fields each time the unfiltered list was read',
  },
  {
    seed: 1999,
    given: { variants: { paging: 'no-meta', 'null-rows': 'yes', 'behind-end': 'past-end' } },
    was: 'windows without a count were gathered into readings of several pages, which cannot add up, and then read day by day',
  },
  {
    seed: 633,
    given: {
      variants: { pages: 'thinned', 'behind-end': 'first-page', 'customer-address': '403' },
      others: ['orders', 'quotes'],
    },
    was: 'a range of ids that began behind a page with fewer rows than asked for was never reached by readings of one answer',
  },
  {
    seed: 7120,
    given: {
      variants: { pages: 'thinned', 'list-names': 'positions', order: 'id-desc', 'other-ids': 'yes' },
      others: ['orders', 'products'],
    },
    was: 'what was deleted stayed in a list in the order of ids whose count includes rows that it hides',
  },
  {
    seed: 179,
    given: {
      variants: { pages: 'thinned', forbidden: 'transactions', 'date-to': 'exclusive', fault: 'success-falsy' },
      others: ['tickets'],
    },
    was: 'as many rows as were deleted stayed in a list in the order of ids whose count includes rows that it hides',
  },
  {
    seed: 1092,
    given: { variants: { order: 'updated-asc', 'limit-max': 'ignored', backdated: 'none', filters: 'ignored' } },
    was: 'a reading that was killed after its count had moved was complete once that was what it had been',
  },
  {
    seed: 1794,
    given: { variants: { pages: 'thinned', 'long-pages': 'empty', cap: '500', 'no-rows': '404' } },
    was: 'a list that shows no row of a long page, and hides all rows of its default page, was proven empty',
  },
];

/** Most failed before the simulation had other lists, so by default they play without them. */
export const REGRESSIONS = SEEDS.map(each => ({ ...each, given: { others: [], ...each.given } }));
