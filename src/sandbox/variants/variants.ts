import { SluiceError } from '../../errors.ts';
import { faultKinds } from '../faults/fault-kinds.ts';
import { pairsOf } from '../parse/name-values.ts';

interface Point<V extends string> {
  readonly about: string;
  readonly values: Readonly<Record<V, string>>;
  /** What the sandbox does unless told otherwise: the behaviour to expect first. */
  readonly likely: V;
}

function point<const V extends string>(about: string, values: Record<V, string>, likely: NoInfer<V>): Point<V> {
  return { about, values, likely };
}

/** Every point the API's document leaves open, and the ways services of this kind are known to behave there. */
export const variantPoints = {
  paging: point(
    'How lists other than customers are paged.',
    {
      meta: 'page and limit as for customers, with meta',
      whole: 'the whole list in one body, page and limit ignored, no meta',
      'no-meta': 'page and limit honoured, no meta',
      capped: 'at most `cap` rows, page and limit ignored, no meta',
      ignored: 'limit honoured, page ignored (page 1 for ever), no meta',
    },
    'meta',
  ),
  cap: point('Rows a capped list stops at.', { '100': '100 rows', '500': '500 rows', '1000': '1000 rows' }, '500'),
  'past-end': point(
    'What a page past the end holds.',
    { empty: 'an empty list', '404': 'status 404', 'last-page': 'the last page again' },
    'empty',
  ),
  'limit-max': point(
    'What happens to a great `limit`.',
    {
      '100': 'clamped to 100',
      '1000': 'clamped to 1000',
      '100-reject': 'refused above 100, by the status of `validation`',
      '20-reject': 'refused above 20, by the status of `validation`',
      honoured: 'as many rows as asked for, however many',
      ignored: 'always 20 rows',
    },
    '100',
  ),
  order: point(
    'The order of every list.',
    {
      'id-desc': 'newest id first',
      'id-asc': 'oldest id first',
      'updated-desc': 'last changed first',
      'updated-asc': 'last changed last',
      'date-desc': 'newest date first, equal dates by id',
      'date-desc-loose': 'newest date first, equal dates in another order at every request',
      shuffled: 'a fixed arbitrary order',
    },
    'id-desc',
  ),
  'rate-reset': point(
    'What X-RateLimit-Reset says.',
    {
      'epoch-s': 'seconds since the epoch',
      'epoch-ms': 'milliseconds since the epoch',
      seconds: 'seconds to go',
      'http-date': 'an HTTP date',
      stale: 'the same moment in the past for ever',
    },
    'epoch-s',
  ),
  'rate-headers': point(
    'Which responses carry the X-RateLimit headers.',
    { always: 'all', 'only-429': 'only rejections' },
    'always',
  ),
  'retry-after': point(
    'Retry-After on a rejection.',
    { seconds: 'seconds to go', 'http-date': 'an HTTP date', absent: 'not sent' },
    'seconds',
  ),
  'rate-window': point(
    'How the limit is counted (fixed at opening).',
    {
      sliding: 'over the window that ends now',
      fixed: 'over windows that start at multiples of their length',
      'token-bucket': 'a bucket of `rateLimit` tokens, refilled evenly',
    },
    'sliding',
  ),
  'rejected-count': point(
    'Whether a request rejected with 429 counts against the limit.',
    { no: 'it does not', yes: 'it does' },
    'no',
  ),
  'rejected-body': point('The body of a 429.', { json: 'the error envelope', html: 'an HTML page' }, 'json'),
  'shared-key': point(
    'Whether another tool uses the same key.',
    { no: 'we are alone', yes: 'it takes one request for every four of ours' },
    'no',
  ),
  'customer-fields': point(
    'Fields of a customer row.',
    { full: 'all documented', bare: 'without created_at and updated_at' },
    'full',
  ),
  'invoice-fields': point(
    'Fields of an invoice row in a list.',
    { full: 'all documented', bare: 'without date and notes' },
    'full',
  ),
  'transaction-ids': point('Whether listed transactions carry an id.', { yes: 'they do', no: 'they do not' }, 'yes'),
  'other-ids': point(
    'Whether listed products, quotes, tickets and users carry an id.',
    { yes: 'they do', no: 'they do not' },
    'yes',
  ),
  'extra-fields': point(
    'Whether rows carry fields that are not documented.',
    { no: 'they do not', yes: 'currency, custom_fields and tags (users: password)' },
    'no',
  ),
  none: point(
    'How "no value" is written.',
    {
      null: 'null',
      empty: 'an empty string',
      absent: 'the field is left out',
      'zero-date': '0000-00-00 in dates, else null',
    },
    'null',
  ),
  undated: point(
    'Whether one in 50 invoices and transactions has no date (fixed at opening).',
    { no: 'all have one', yes: 'some have none' },
    'no',
  ),
  numbers: point(
    'How numbers and ids are written.',
    {
      numbers: 'JSON numbers',
      strings: 'strings, amounts with two decimals or more',
      mixed: 'strings in every other row',
      'string-amounts': 'amounts as strings, all else as numbers',
      'string-ids': 'ids as strings, all else as numbers',
    },
    'numbers',
  ),
  digits: point(
    'Digits of amounts (fixed at opening).',
    { double: 'a double holds them', beyond: 'some have more than a double holds' },
    'double',
  ),
  timestamps: point(
    'How time stamps are written.',
    { z: '2026-01-15T10:00:00Z', micros: '2026-01-15T10:00:00.000000Z', zoneless: '2026-01-15 10:00:00' },
    'z',
  ),
  'date-to': point(
    'Whether date_to is part of the answer.',
    { inclusive: 'it is', exclusive: 'it is not' },
    'inclusive',
  ),
  'date-filter': point(
    'What date_from and date_to do.',
    { honoured: 'they filter', ignored: 'nothing', 'pair-only': 'they filter only when both are given' },
    'honoured',
  ),
  filters: point(
    'What status, type, customer_id, account_id and department_id do.',
    { honoured: 'they filter', ignored: 'nothing' },
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
    'The status for a wrong key.',
    { '200': 'OK, with success false', '400': 'Bad Request', '401': 'Unauthorized', '403': 'Forbidden' },
    '401',
  ),
  fault: point(
    'What goes wrong at every tenth request (--faults: any of these, and how often).',
    { none: 'nothing', ...faultKinds },
    'none',
  ),
  visible: point(
    'Which rows the key may see.',
    { all: 'all', half: 'those with an even id', none: 'none (every list is empty)' },
    'all',
  ),
  webhooks: point(
    'What becomes of registered webhooks.',
    {
      once: 'each event is sent once',
      twice: 'each event is sent twice',
      swapped: 'each second event is sent before the first',
      never: 'nothing is ever sent',
    },
    'once',
  ),
  report: point(
    'The financial report.',
    {
      'by-date': 'sums by date of Income and Expense',
      absent: 'status 404',
      'other-rules': 'sums without refunds and cash sales',
    },
    'by-date',
  ),
  'other-lists': point(
    'What orders, suppliers and purchases do.',
    { list: 'a list like the others', '404': 'status 404', '405': 'status 405' },
    'list',
  ),
  batch: point(
    'A batch with wrong entries.',
    { partial: 'the good ones are created, with a result per entry', all: 'all or nothing' },
    'partial',
  ),
} as const;

type Points = typeof variantPoints;
type VariantName = keyof Points;
export type Variants = { [N in VariantName]: keyof Points[N]['values'] };

const names = Object.keys(variantPoints) as VariantName[];

/** The likely behaviour at every point, but for the given ones. */
export function completeVariants(given: Partial<Variants> = {}): Variants {
  const likely = Object.fromEntries(names.map(name => [name, variantPoints[name].likely]));
  return { ...likely, ...given } as Variants;
}

/** Reads `paging=capped,order=shuffled`; a wrong name or value is a usage error that names the allowed ones. */
export function parseVariants(text: string): Partial<Variants> {
  const parsed: Record<string, string> = {};
  for (const [name, value] of pairsOf(text)) {
    const known = names.find(candidate => candidate === name);
    if (known === undefined) {
      throw new SluiceError('usage', `There is no variant "${name}".`, { next: `Variants: ${names.join(', ')}.` });
    }
    const allowed = Object.keys(variantPoints[known].values);
    if (!allowed.includes(value)) {
      throw new SluiceError('usage', `The variant "${name}" has no value "${value}".`, {
        next: `Values of ${name}: ${allowed.join(', ')}.`,
      });
    }
    parsed[name] = value;
  }
  return parsed as Partial<Variants>;
}

/** All points with their values as text for people; the likely value is marked with `*`. */
export function describeVariants(): string {
  return names
    .map(name => {
      const { about, values, likely } = variantPoints[name];
      const lines = Object.entries(values).map(
        ([value, what]) => `  ${value === likely ? '*' : ' '} ${value}: ${what}`,
      );
      return [`${name}: ${about}`, ...lines].join('\n');
    })
    .join('\n');
}
