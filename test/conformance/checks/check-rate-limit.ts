import { HOUR, MINUTE, SECOND } from '../../../src/clock.ts';
import { parseRateHeaders } from '../../../src/source/answers/rate-limit.ts';
import { type Finding, observed, undetermined, unrecognized } from '../findings/finding.ts';
import type { NumberedAnswer, Requester } from '../requests/requester.ts';

const NEEDS_REJECTION = 'requires a request beyond the limit, which is never sent on purpose';

/** The points about the rate limit, from the headers of all answers; sends no requests. */
export function checkRateLimit({ answers }: Requester): Finding[] {
  const own = answers.filter(answer => answer.withOwnKey);
  const rejected = own.filter(({ status }) => status === 429);
  return [
    rateHeaders(own),
    resetHeader(own),
    rateWindow(own),
    sharedKey(own),
    rejected.length > 0 ? retryAfter(rejected) : undetermined('retry-after', NEEDS_REJECTION),
    rejected.length > 0 ? rejectedBody(rejected) : undetermined('rejected-body', NEEDS_REJECTION),
    undetermined('rejected-count', NEEDS_REJECTION),
  ];
}

const header = (answer: NumberedAnswer | undefined, name: string) => answer?.headers[name]?.toString();

function rateHeaders(own: readonly NumberedAnswer[]): Finding {
  const carrying = own.filter(answer => header(answer, 'x-ratelimit-remaining') !== undefined);
  const evidence = `${carrying.length} of ${own.length} answers carry X-RateLimit headers`;
  const limit = header(carrying[0], 'x-ratelimit-limit');
  if (carrying.length > 0 && carrying.length === own.length)
    return observed('rate-headers', 'always', `${evidence}; the limit is ${limit}`);
  if (carrying.every(({ status }) => status === 429))
    return observed('rate-headers', 'only-429', `${evidence}; only rejections do`);
  return unrecognized('rate-headers', evidence, 'yes');
}

function resetHeader(own: readonly NumberedAnswer[]): Finding {
  const found = own.filter(answer => header(answer, 'x-ratelimit-reset') !== undefined);
  if (found.length === 0) return undetermined('rate-reset', 'no answer has the header');
  const forms = new Set(found.map(resetForm));
  const evidence = `X-RateLimit-Reset: ${header(found[0], 'x-ratelimit-reset')}`;
  const [form] = forms;
  if (forms.size === 1 && form !== undefined && form !== 'unknown') return observed('rate-reset', form, evidence);
  return unrecognized('rate-reset', `${evidence} (${[...forms].join(' and ')})`, 'yes');
}

function resetForm(answer: NumberedAnswer): string {
  const text = header(answer, 'x-ratelimit-reset') ?? '';
  const number = Number(text);
  const past = (ms: number) => ms < answer.at - MINUTE;
  if (/^\d+(\.\d+)?$/.test(text)) {
    if (number > 1e12) return past(number) ? 'stale' : 'epoch-ms';
    if (number > 1e9) return past(number * SECOND) ? 'stale' : 'epoch-s';
    return number * SECOND <= HOUR + MINUTE ? 'seconds' : 'unknown';
  }
  const date = Date.parse(text);
  if (Number.isNaN(date)) return 'unknown';
  return past(date) ? 'stale' : 'http-date';
}

function rateWindow(own: readonly NumberedAnswer[]): Finding {
  const dated = own.filter(answer => !['stale', 'unknown'].includes(resetForm(answer)));
  const ends = dated.map(
    answer =>
      answer.at + (parseRateHeaders(answer.headers, { nowMs: answer.at, windowMs: HOUR }).resetMs ?? Number.NaN),
  );
  const limit = Number(header(own[0], 'x-ratelimit-limit') ?? Number.NaN);
  const [first] = ends;
  const begun = own[0]?.at;
  if (first === undefined || begun === undefined || ends.length < 3 || ends.some(Number.isNaN) || Number.isNaN(limit))
    return undetermined('rate-window', 'the headers do not say when requests become available');
  const near = (a: number, b: number) => Math.abs(a - b) <= 3 * SECOND;
  const longestWaitMs = Math.max(...dated.map((answer, index) => (ends[index] as number) - answer.at));
  // A bucket refills evenly: its next token is never further away than an hour divided by the limit.
  if (longestWaitMs <= (2 * HOUR) / limit + 2 * SECOND)
    return observed(
      'rate-window',
      'token-bucket',
      `the next request becomes available within ${Math.ceil(longestWaitMs / SECOND)} s`,
    );
  if (!ends.every(end => near(end, first)))
    return undetermined('rate-window', 'the reset time moves unlike that of any known window');
  const onTheHour = near(first % HOUR, 0) || near(first % HOUR, HOUR);
  if (onTheHour && near(first, begun + HOUR))
    return undetermined('rate-window', 'the first request was sent on the hour');
  if (onTheHour)
    return observed(
      'rate-window',
      'fixed',
      `it ends on the hour, at ${new Date(first).toISOString().slice(11, 16)} UTC`,
    );
  if (near(first, begun + HOUR)) return observed('rate-window', 'sliding', 'it ends an hour after our first request');
  return undetermined('rate-window', 'earlier requests with the same key hide its start');
}

/** If Remaining falls by more than our own requests between two answers, another tool uses the key. */
function sharedKey(own: readonly NumberedAnswer[]): Finding {
  const counted = own.filter(answer => header(answer, 'x-ratelimit-remaining') !== undefined);
  const left = (answer: NumberedAnswer) => Number(header(answer, 'x-ratelimit-remaining'));
  const steps = counted.slice(1).map((answer, index) => {
    const before = counted[index] as NumberedAnswer;
    return { ours: answer.number - before.number, fell: left(before) - left(answer) };
  });
  // It rises when requests leave the window.
  const known = steps.filter(({ fell }) => fell >= 0);
  if (known.length < 10) return undetermined('shared-key', 'too few answers have the X-RateLimit-Remaining header');
  const sum = (name: 'ours' | 'fell') => known.reduce((total, step) => total + step[name], 0);
  const evidence = `Remaining fell by ${sum('fell')} over ${sum('ours')} of our requests`;
  return observed('shared-key', known.some(({ ours, fell }) => fell > ours) ? 'yes' : 'no', evidence);
}

function retryAfter([answer]: readonly NumberedAnswer[]): Finding {
  const text = header(answer, 'retry-after');
  if (text === undefined) return observed('retry-after', 'absent', 'HTTP 429 without the header');
  const evidence = `Retry-After: ${text}`;
  if (/^\d+$/.test(text)) return observed('retry-after', 'seconds', evidence);
  return Number.isNaN(Date.parse(text))
    ? unrecognized('retry-after', evidence, 'yes')
    : observed('retry-after', 'http-date', evidence);
}

function rejectedBody([answer]: readonly NumberedAnswer[]): Finding {
  const text = answer?.text.trimStart() ?? '';
  if (text.startsWith('<')) return observed('rejected-body', 'html', 'HTTP 429 with an HTML page');
  if (text.startsWith('{')) return observed('rejected-body', 'json', 'HTTP 429 with JSON');
  return unrecognized('rejected-body', `HTTP 429 with "${text.slice(0, 40)}"`, 'yes');
}
