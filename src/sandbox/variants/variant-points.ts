import { faultKinds } from '../faults/fault-kinds.ts';

interface Point<V extends string> {
  readonly about: string;
  /** Value to description. */
  readonly values: Readonly<Record<V, string>>;
  /** The default: the behaviour most likely to be found. */
  readonly likely: V;
}

function point<const V extends string>(about: string, values: Record<V, string>, likely: NoInfer<V>): Point<V> {
  return { about, values, likely };
}

/** Every point that the API document leaves open, and how services of this kind are known to behave. */
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
    'The maximum number of rows of a capped list.',
    { '100': '100 rows', '500': '500 rows', '1000': '1000 rows' },
    '500',
  ),
  'past-end': point(
    'The response for a page past the end.',
    { empty: 'an empty list', '404': 'status 404', 'last-page': 'the last page again' },
    'empty',
  ),
  'limit-max': point(
    'How a large `limit` is treated.',
    {
      '100': 'clamped to 100',
      '1000': 'clamped to 1000',
      '100-reject': 'rejected above 100, with the status of `validation`',
      '20-reject': 'rejected above 20, with the status of `validation`',
      honoured: 'honoured, however large',
      ignored: 'ignored: always 20 rows',
    },
    '100',
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
  'rate-reset': point(
    'The meaning of X-RateLimit-Reset.',
    {
      'epoch-s': 'seconds since the epoch',
      'epoch-ms': 'milliseconds since the epoch',
      seconds: 'seconds remaining',
      'http-date': 'an HTTP date',
      stale: 'a constant moment in the past',
    },
    'epoch-s',
  ),
  'rate-headers': point(
    'Which responses carry the X-RateLimit headers.',
    { always: 'all responses', 'only-429': 'rejections only' },
    'always',
  ),
  'retry-after': point(
    'The Retry-After header of a rejection.',
    { seconds: 'seconds remaining', 'http-date': 'an HTTP date', absent: 'not sent' },
    'seconds',
  ),
  'rate-window': point(
    'How requests are counted against the limit (fixed at opening).',
    {
      sliding: 'over the window that ends now',
      fixed: 'over windows that start at multiples of their length',
      'token-bucket': 'a bucket of `rateLimit` tokens, refilled evenly',
    },
    'sliding',
  ),
  'rejected-count': point(
    'Whether a request rejected with 429 counts against the limit (fixed at opening).',
    { no: 'it does not', yes: 'it does' },
    'no',
  ),
  concurrency: point(
    'How many requests are served at the same time. More are answered with Retry-After: 1 and a message about connections.',
    {
      any: 'any number',
      '1': 'one; others get status 429',
      '2': 'two; others get status 429',
      '4': 'four; others get status 429',
      '2-503': 'two; others get status 503',
    },
    'any',
  ),
  'rejected-body': point('The body of a 429 response.', { json: 'the error envelope', html: 'an HTML page' }, 'json'),
  'shared-key': point(
    'Whether another tool uses the same key.',
    { no: 'no other tool', yes: 'another tool sends one request for every four of ours' },
    'no',
  ),
  'customer-fields': point(
    'The fields of a customer row.',
    { full: 'all documented fields', bare: 'without created_at and updated_at' },
    'full',
  ),
  'invoice-fields': point(
    'The fields of an invoice row in a list.',
    { full: 'all documented fields', bare: 'without date and notes' },
    'full',
  ),
  'transaction-ids': point('Whether listed transactions have an id.', { yes: 'they do', no: 'they do not' }, 'yes'),
  'other-ids': point(
    'Whether listed products, quotes, tickets and users have an id.',
    { yes: 'they do', no: 'they do not' },
    'yes',
  ),
  'extra-fields': point(
    'Whether rows have undocumented fields.',
    { no: 'they do not', yes: 'currency, custom_fields and tags (users: password)' },
    'no',
  ),
  none: point(
    'How a missing value is written.',
    {
      null: 'null',
      empty: 'an empty string',
      absent: 'the field is omitted',
      'zero-date': '0000-00-00 in date fields, otherwise null',
    },
    'null',
  ),
  undated: point(
    'Whether one in 50 invoices and transactions has no date (fixed at opening).',
    { no: 'all have a date', yes: 'some have none' },
    'no',
  ),
  numbers: point(
    'How numbers and ids are written.',
    {
      numbers: 'JSON numbers',
      strings: 'strings, amounts with at least two decimals',
      mixed: 'strings in every second row',
      'string-amounts': 'amounts as strings, other numbers as numbers',
      'string-ids': 'ids as strings, other numbers as numbers',
    },
    'numbers',
  ),
  lists: point(
    'How lists that are not empty are written, and the items of a row.',
    {
      array: 'JSON arrays',
      object: 'objects whose names are the positions: {"0": .., "1": ..}',
      gaps: 'objects whose names are positions with gaps: {"0": .., "2": ..}',
    },
    'array',
  ),
  charset: point(
    'The encoding of the JSON.',
    {
      'utf-8': 'UTF-8',
      latin1: 'ISO-8859-1, as the Content-Type says; other characters are escaped',
      broken: 'the Content-Type says UTF-8, but the letters from À to ÿ are sent as one byte each, as in ISO-8859-1',
    },
    'utf-8',
  ),
  digits: point(
    'The digits of amounts (fixed at opening).',
    { double: 'no more than a double holds', beyond: 'some have more than a double holds' },
    'double',
  ),
  timestamps: point(
    'How timestamps are written.',
    {
      z: '2026-01-15T10:00:00Z',
      micros: '2026-01-15T10:00:00.000000Z',
      zoneless: '2026-01-15 10:00:00',
      epoch: 'seconds since the epoch',
      'epoch-ms': 'milliseconds since the epoch',
    },
    'z',
  ),
  'date-to': point(
    'Whether the range ends with the day of date_to or before it.',
    { inclusive: 'date_to is included', exclusive: 'date_to is excluded' },
    'inclusive',
  ),
  'date-filter': point(
    'The effect of date_from and date_to.',
    { honoured: 'they filter', ignored: 'none', 'pair-only': 'they filter only when both are given' },
    'honoured',
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
  visible: point(
    'Which rows the key may see.',
    { all: 'all', half: 'rows with an even id', none: 'none (every list is empty)' },
    'all',
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
    { partial: 'valid entries are created, with one result per entry', all: 'all or nothing' },
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
  'null-rows': point('Whether every list has a row that is null.', { no: 'none has', yes: 'its first row is' }, 'no'),
} as const;
