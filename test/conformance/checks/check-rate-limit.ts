import { HOUR, MINUTE, SECOND } from '../../../src/clock.ts';
import { parseRateHeaders } from '../../../src/source/http/rate-headers.ts';
import { type Finding, strange, told, untold } from '../findings/finding.ts';
import type { Asker, Counted } from '../requests/requester.ts';

const WITHIN = 'only a request beyond the limit would show it, and none is ever made on purpose';

/** The points about the limit, from the headers of all answers. Nothing is asked for it. */
export function judgeRate({ answers }: Asker): Finding[] {
  const own = answers.filter(answer => answer.own);
  const rejected = own.filter(({ status }) => status === 429);
  return [
    headers(own),
    reset(own),
    window(own),
    shared(own),
    rejected.length > 0 ? retryAfter(rejected) : untold('retry-after', WITHIN),
    rejected.length > 0 ? rejectedBody(rejected) : untold('rejected-body', WITHIN),
    untold('rejected-count', WITHIN),
  ];
}

const header = (answer: Counted | undefined, name: string) => answer?.headers[name]?.toString();

function headers(own: readonly Counted[]): Finding {
  const carrying = own.filter(answer => header(answer, 'x-ratelimit-remaining') !== undefined);
  const evidence = `${carrying.length} of ${own.length} answers carry X-RateLimit headers`;
  const limit = header(carrying[0], 'x-ratelimit-limit');
  if (carrying.length > 0 && carrying.length === own.length)
    return told('rate-headers', 'always', `${evidence}; the limit is ${limit}`);
  if (carrying.every(({ status }) => status === 429))
    return told('rate-headers', 'only-429', `${evidence}; they are on rejections at most`);
  return strange('rate-headers', evidence, 'yes');
}

function reset(own: readonly Counted[]): Finding {
  const found = own.filter(answer => header(answer, 'x-ratelimit-reset') !== undefined);
  if (found.length === 0) return untold('rate-reset', 'no answer has the header');
  const forms = new Set(found.map(resetForm));
  const evidence = `X-RateLimit-Reset: ${header(found[0], 'x-ratelimit-reset')}`;
  const [form] = forms;
  if (forms.size === 1 && form !== undefined && form !== 'unknown') return told('rate-reset', form, evidence);
  return strange('rate-reset', `${evidence} (${[...forms].join(' and ')})`, 'yes');
}

function resetForm(answer: Counted): string {
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

function window(own: readonly Counted[]): Finding {
  const dated = own.filter(answer => !['stale', 'unknown'].includes(resetForm(answer)));
  const ends = dated.map(
    answer =>
      answer.at + (parseRateHeaders(answer.headers, { nowMs: answer.at, windowMs: HOUR }).resetMs ?? Number.NaN),
  );
  const limit = Number(header(own[0], 'x-ratelimit-limit') ?? Number.NaN);
  const [first] = ends;
  const begun = own[0]?.at;
  if (first === undefined || begun === undefined || ends.length < 3 || ends.some(Number.isNaN) || Number.isNaN(limit))
    return untold('rate-window', 'the headers do not say when requests are free again');
  const near = (a: number, b: number) => Math.abs(a - b) <= 3 * SECOND;
  const toGo = Math.max(...dated.map((answer, index) => (ends[index] as number) - answer.at));
  // A bucket always has its next request soon: an hour's limit apart.
  if (toGo <= (2 * HOUR) / limit + 2 * SECOND)
    return told('rate-window', 'token-bucket', `the next request is free within ${Math.ceil(toGo / SECOND)} s`);
  if (!ends.every(end => near(end, first)))
    return untold('rate-window', 'the reset moves, and not as a known window does');
  const onTheHour = near(first % HOUR, 0) || near(first % HOUR, HOUR);
  if (onTheHour && near(first, begun + HOUR)) return untold('rate-window', 'our first request was made on the hour');
  if (onTheHour)
    return told('rate-window', 'fixed', `it ends on the hour, at ${new Date(first).toISOString().slice(11, 16)} UTC`);
  if (near(first, begun + HOUR))
    return told('rate-window', 'sliding', 'it ends an hour after the first request of ours');
  return untold('rate-window', 'requests were made before ours, so that its end tells nothing');
}

/** Between two answers, Remaining falls by what was asked from one to the other, or somebody else asked too. */
function shared(own: readonly Counted[]): Finding {
  const counted = own.filter(answer => header(answer, 'x-ratelimit-remaining') !== undefined);
  const left = (answer: Counted) => Number(header(answer, 'x-ratelimit-remaining'));
  const steps = counted.slice(1).map((answer, index) => {
    const before = counted[index] as Counted;
    return { ours: answer.number - before.number, fell: left(before) - left(answer) };
  });
  // Where it rises, requests of an hour ago were forgotten.
  const known = steps.filter(({ fell }) => fell >= 0);
  if (known.length < 10) return untold('shared-key', 'too few answers tell how many requests are left');
  const sum = (name: 'ours' | 'fell') => known.reduce((total, step) => total + step[name], 0);
  const evidence = `Remaining fell by ${sum('fell')} over ${sum('ours')} requests of ours`;
  return told('shared-key', known.some(({ ours, fell }) => fell > ours) ? 'yes' : 'no', evidence);
}

function retryAfter([answer]: readonly Counted[]): Finding {
  const text = header(answer, 'retry-after');
  if (text === undefined) return told('retry-after', 'absent', 'HTTP 429 without the header');
  const evidence = `Retry-After: ${text}`;
  if (/^\d+$/.test(text)) return told('retry-after', 'seconds', evidence);
  return Number.isNaN(Date.parse(text))
    ? strange('retry-after', evidence, 'yes')
    : told('retry-after', 'http-date', evidence);
}

function rejectedBody([answer]: readonly Counted[]): Finding {
  const text = answer?.text.trimStart() ?? '';
  if (text.startsWith('<')) return told('rejected-body', 'html', 'HTTP 429 with an HTML page');
  if (text.startsWith('{')) return told('rejected-body', 'json', 'HTTP 429 with JSON');
  return strange('rejected-body', `HTTP 429 with "${text.slice(0, 40)}"`, 'yes');
}
