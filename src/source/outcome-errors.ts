import { SluiceError } from '../errors.ts';
import type { Verdict } from './answer.ts';
import type { Attempt, Call } from './attempt.ts';

/** The source said no: to the key, or to this request. */
export function rejected(
  call: Call,
  status: number | null,
  verdict: Extract<Verdict, { kind: 'refused' | 'unauthorized' }>,
): SluiceError {
  const known = status === null ? {} : { status };
  if (verdict.kind === 'unauthorized') {
    return new SluiceError('unauthorized', `The source refuses the API key for ${call.asked}: ${verdict.message}`, {
      ...known,
      next: 'Check SOURCE_API_KEY and what the key may read: in the source, Settings → API Access.',
    });
  }
  const { fields, message } = verdict;
  const details = Object.entries(fields ?? {}).map(([field, text]) => `${field}: ${text}`);
  const listed = details.length > 0 ? ` (${details.join('; ')})` : '';
  return new SluiceError('refused', `The source refuses ${call.asked}: ${message}${listed}`, {
    ...known,
    ...(fields && { fields }),
    next: 'The same request would be refused again.',
  });
}

/** Nothing but failures through every attempt. What is too large stays so, and is refused. */
export function exhausted(
  call: Call,
  last: Attempt,
  verdict: Extract<Verdict, { kind: 'retry' }>,
  how: { tries: number; mayRepeat: boolean },
): SluiceError {
  const times = how.tries === 1 ? 'failed' : `failed ${how.tries} times`;
  const kind = verdict.asks === 'less' ? 'refused' : 'unavailable';
  return new SluiceError(kind, `${call.asked} ${times}: ${verdict.what}`, {
    next: how.mayRepeat ? NEXT[verdict.asks ?? 'patience'] : NEXT.care,
    ...(last.status !== null && { status: last.status }),
    ...(last.cause && { cause: last.cause }),
  });
}

const NEXT = {
  patience: 'Check that the source is up and SOURCE_URL is right; the next run goes on where this one stopped.',
  'another address':
    'Set SOURCE_URL to the address that answers without a redirect; if it is right, the source sends everybody away for now, and the next run goes on where this one stopped.',
  less: 'Ask for less at a time: SOURCE_PAGE_SIZE.',
  care: 'It may have been carried out all the same: look in the source before repeating it.',
} as const;
