import { point } from './point.ts';

/** How requests are counted and refused. */
export const requestLimitPoints = {
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
  'rate-length': point(
    'How long the window of the limit is (fixed at opening).',
    { 'as-set': 'as it was opened', minute: 'a minute with a tenth of the limit, if it was opened with a longer one' },
    'as-set',
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
} as const;
