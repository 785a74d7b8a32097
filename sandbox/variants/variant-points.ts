import { faultKinds } from '../faults/fault-kinds.ts';
import { point } from './point.ts';
import { requestLimitPoints } from './request-limit-points.ts';
import { rowPoints } from './row-points.ts';

const NUMBER = /^[1-9]\d{0,8}$/;

/**
 * Every point that the API document leaves open, and how services of this kind are known to behave.
 * Simulated seeds choose in the order of the points.
 */
export const variantPoints = {
  paging: point(
    'How lists other than customers are paged.',
    {
      meta: 'page and limit as for customers, with meta',
      whole: 'the whole list in one body, page and limit ignored, no meta',
      'no-meta': 'page and limit honoured, no meta',
      capped: 'at most `cap` rows, page and limit ignored, no meta',
      ignored: 'limit honoured, page ignored (always page 1), no meta',
    },
    'meta',
  ),
  cap: point(
    'The maximum number of rows of a capped list; any whole number.',
    { '100': '100 rows', '500': '500 rows', '1000': '1000 rows' },
    '500',
    NUMBER,
  ),
  'past-end': point(
    'The response for a page past the end.',
    { empty: 'an empty list', '404': 'status 404', 'last-page': 'the last page again' },
    'empty',
  ),
  'behind-end': point(
    'What some services show behind the end in place of that.',
    {
      'past-end': 'what `past-end` says',
      'first-page': 'page 1 again',
      refused: 'an error, with the status of `validation`',
    },
    'past-end',
  ),
  'limit-max': point(
    'How a large `limit` is treated; 100, 20 and 1000 stand for any whole number, as in `250`, `250-reject`, `ignored-25` and `250-default` (above 250, as where none is given).',
    {
      '100': 'clamped to 100',
      '1000': 'clamped to 1000',
      '100-reject': 'rejected above 100, with the status of `validation`',
      '20-reject': 'rejected above 20, with the status of `validation`',
      honoured: 'honoured, however large',
      ignored: 'ignored: always 20 rows',
    },
    '100',
    /^([1-9]\d{0,8}(-reject|-default)?|ignored-[1-9]\d{0,8})$/,
  ),
  order: point(
    'The order of every list.',
    {
      'id-desc': 'newest id first',
      'id-asc': 'oldest id first',
      'updated-desc': 'most recently changed first',
      'updated-asc': 'most recently changed last',
      'date-desc': 'newest date first, ties by id',
      'date-desc-loose': 'newest date first, ties in a different order on every request',
      shuffled: 'a fixed arbitrary order',
    },
    'id-desc',
  ),
  ...requestLimitPoints,
  ...rowPoints,
  'date-to': point(
    'Whether the range ends with the day of date_to or before it.',
    { inclusive: 'date_to is included', exclusive: 'date_to is excluded' },
    'inclusive',
  ),
  'date-filter': point(
    'The effect of date_from and date_to. `later` or `earlier`: of another time zone, they select the days after or before those that rows show.',
    { honoured: 'they filter', ignored: 'none', 'pair-only': 'they filter only when both are given' },
    'honoured',
    /^(later|earlier)$/,
  ),
  'date-times': point(
    'Whether the source keeps a time of day with each date, which its rows do not show.',
    { no: 'it does not', mixed: 'for two rows in three; date_to selects those of that day that have none' },
    'no',
  ),
  'date-span': point(
    'The days that date_from and date_to select at most, without a word unless rejected.',
    {
      any: 'all of them',
      'first-92': 'the first 92, or the last 92 up to date_to alone',
      'last-92': 'the last 92 up to date_to',
      'rejected-92': 'more are rejected, with the status of `validation`; both dates have to be given',
    },
    'any',
  ),
  filters: point(
    'The effect of status, type, customer_id, account_id and department_id.',
    { honoured: 'they filter', ignored: 'none' },
    'honoured',
  ),
  states: point(
    'Which states occur (fixed at opening).',
    { documented: 'the documented ones', more: 'also Draft, Void, Cancelled and Transfer' },
    'documented',
  ),
  validation: point(
    'The status of a validation error.',
    { '200': 'OK, with success false', '400': 'Bad Request', '409': 'Conflict', '422': 'Unprocessable' },
    '400',
  ),
  'auth-error': point(
    'The status for an invalid key.',
    { '200': 'OK, with success false', '400': 'Bad Request', '401': 'Unauthorized', '403': 'Forbidden' },
    '401',
  ),
  fault: point(
    'The fault of every tenth request (--faults takes any of these with a probability).',
    { none: 'no fault', ...faultKinds },
    'none',
  ),
  stale: point(
    'Whether reads show the latest changes.',
    {
      no: 'they do',
      replica: 'each is answered from a state that is 3 to 60 seconds old, by the clock of the sandbox',
      cache: 'an answer is repeated for the same address for up to 60 seconds',
    },
    'no',
  ),
  'count-age': point(
    'How old total_records and total_pages are.',
    {
      none: 'they count the rows that the list has now',
      minute: 'a count is kept for up to 60 seconds for the same question, by the clock of the sandbox',
    },
    'none',
  ),
  estimates: point(
    'Whether total_records and total_pages are exact.',
    { no: 'they are', yes: 'they are estimates, up to 11 rows too high and others in each answer' },
    'no',
  ),
  'long-pages': point(
    'What a `limit` above a maximum that others are clamped to shows.',
    { clamped: 'as many rows as the maximum', empty: 'no row, and the count' },
    'clamped',
  ),
  visible: point(
    'Which rows the key may see.',
    { all: 'all', half: 'rows with an even id', none: 'none (every list is empty)' },
    'all',
  ),
  pages: point(
    'Whether pages hold all rows that were counted.',
    {
      full: 'they do',
      thinned: 'the key may not see every second run of 25 ids: they are taken out of a page once it is cut',
    },
    'full',
  ),
  webhooks: point(
    'How events are delivered to registered webhooks.',
    {
      once: 'each event is sent once',
      twice: 'each event is sent twice',
      swapped: 'each pair of events is sent in reverse order',
      never: 'no event is sent',
    },
    'once',
  ),
  report: point(
    'The financial report.',
    {
      'by-date': 'sums of Income and Expense by date',
      absent: 'status 404',
      'other-rules': 'sums without refunds and cash sales',
    },
    'by-date',
  ),
  'other-lists': point(
    'The response of orders, suppliers and purchases.',
    { list: 'a list like the others', '404': 'status 404', '405': 'status 405' },
    'list',
  ),
  batch: point(
    'How a batch with invalid entries is treated.',
    {
      partial: 'valid entries are created, with one result per entry',
      all: 'all or nothing',
      silent: 'valid entries are created, and no answer reports an entry',
    },
    'partial',
  ),
  'no-rows': point(
    'The response of a list that has no row to show.',
    { list: 'an empty list', '404': 'status 404' },
    'list',
  ),
  forbidden: point(
    'The list that the key may not read: status 403.',
    { none: 'none', transactions: 'transactions', users: 'users' },
    'none',
  ),
  totals: point(
    'What total_records and total_pages count.',
    {
      matching: 'the rows that match the filter',
      unfiltered: 'all rows of the list, whatever the filter',
      'with-deleted': 'seven rows more than there are, since deleted ones still count',
      doubled: 'every row twice',
    },
    'matching',
  ),
  'date-bounds': point(
    'The effect of date_from and date_to outside 1902 to 2037.',
    { any: 'they filter', rejected: 'rejected, with the status of `validation`', wrapped: 'taken for 1 January 1970' },
    'any',
  ),
  'deleted-customer': point(
    'The response of the address of a deleted customer.',
    {
      '404': 'status 404',
      null: 'status 200 with data null',
      'not-found': 'status 200 with success false and the message "Customer not found"',
      '400': 'status 400',
      marked: 'the customer, with deleted_at',
    },
    '404',
  ),
  'null-rows': point(
    'Whether every list has rows that are null.',
    { no: 'none has', yes: 'its first row is', two: 'its first and its thirtieth row are' },
    'no',
  ),
  'failing-list': point(
    'The list of which every request fails, and its status.',
    {
      none: 'none',
      'transactions-404': 'transactions, 404',
      'transactions-400': 'transactions, 400',
      'users-404': 'users, 404',
      'users-400': 'users, 400',
    },
    'none',
  ),
  'most-rows': point(
    'The rows that a question shows at most, on all its pages, without a word; any whole number, or one of these.',
    {
      all: 'all there are',
      '37': 'the first 37 of its order',
      '137': 'the first 137',
      '300': 'the first 300',
      '999': 'the first 999',
      '1000': 'the first 1000',
      '1001': 'the first 1001',
      '2000': 'the first 2000',
    },
    'all',
    NUMBER,
  ),
  'most-rows-of': point(
    'The questions to which `most-rows` applies.',
    {
      lists: 'every question for a list other than customers',
      filtered: 'those with a filter',
      unfiltered: 'those without',
      customer: 'those for the rows of one customer',
      counted: 'every question for any list, and its count leaves out the other rows, too',
    },
    'lists',
  ),
  'most-weight': point(
    'What limits an answer of a list without pages, without a word.',
    {
      none: 'nothing',
      '20000-bytes': 'its rows have at most 20,000 bytes of JSON',
      '200-lines': 'its rows have at most 200 lines, as where both are joined; a row without lines counts as one',
    },
    'none',
  ),
  dates: point(
    'Whether invoices and transactions have dates far away (fixed at opening).',
    { near: 'all lie within years of today', far: 'one in 50 is of 1850, 2050 or 9999' },
    'near',
  ),
  'customer-address': point(
    'The response of GET to the address of a customer.',
    { works: 'the customer', '404': 'status 404, whichever is asked for', '403': 'status 403, whichever is asked for' },
    'works',
  ),
  creates: point(
    'When records are created.',
    { now: 'before the answer', later: '1 to 20 seconds after the answer, which has status 202 and no record' },
    'now',
  ),
  ids: point(
    'The ids of rows, and of customers in other rows.',
    {
      small: 'counted from 1',
      edge: 'the same, but in place of 1 to 3: 2^63-1, 2^63, and one of 20 digits',
    },
    'small',
  ),
  'count-values': point(
    'The values of total_records and total_pages.',
    {
      counts: 'what `totals` says',
      huge: 'always 9000000000000000',
      overflown: 'always 1e300',
      negative: 'always -1',
      fraction: 'half a row and half a page more',
    },
    'counts',
  ),
  drafts: point(
    'Whether the date filter shows every row (those of ids that 11 divides are drafts).',
    { shown: 'it does', hidden: 'it leaves drafts out, whatever the dates; lists without it show and count them' },
    'shown',
  ),
  'total-records': point(
    'The form of total_records, beside total_pages as a number.',
    { number: 'a number', grouped: "text with its digits in groups: '1,234', '0,120'", none: 'left out' },
    'number',
  ),
  backdated: point(
    'Whether invoices and transactions were entered on other days than they are dated (fixed at opening).',
    { some: 'many were, days or months later', none: 'none was, so that their dates ascend with their ids' },
    'some',
  ),
  'customer-rows': point(
    'The invoices that customer_id without dates selects.',
    {
      all: 'all of the customer',
      newer: 'those in the newer half of the list; others are not counted either',
      lighter: 'all of the customer, without notes, dates and lines',
      refused: 'all of the customer; with 422, none of one who has none',
    },
    'all',
  ),
  'deleted-address': point(
    'What the address of a deleted customer does in place of what `deleted-customer` says.',
    {
      'as-said': 'nothing else',
      unmarked: 'it shows the customer as it was',
      archived: 'it shows the customer, with `archivedOn` and the status Archived',
      merged: 'it shows another customer, into which the deleted one was merged',
      '500': 'status 500',
      '301': 'a redirect to the list',
    },
    'as-said',
  ),
  'empty-form': point(
    'The form of a list that has no row to show, where `no-rows` says that it is one.',
    {
      list: 'an empty list',
      null: 'data null, without meta',
      object: 'data {}, without meta',
      message: 'status 200 with success false and the message "No records found"',
    },
    'list',
  ),
  'list-names': point(
    'The names in a list that `lists` writes as an object.',
    { positions: 'what `lists` says', ids: 'the ids of the rows, in the order of the list: {"12": .., "11": ..}' },
    'positions',
  ),
  'limit-values': point(
    'The values of `limit` that are accepted; others are rejected, with the status of `validation`.',
    { any: 'any', '10-25-50-100': '10, 25, 50 and 100', 'at-least-10': '10 and more' },
    'any',
  ),
} as const;
