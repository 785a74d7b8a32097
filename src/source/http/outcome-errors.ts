import { SluiceError } from '../../errors.ts';
import type { Verdict } from '../answers/answer.ts';
import type { Attempt, Call } from './attempt.ts';
import { LOOK_FIRST } from './unknown-outcome.ts';
import type { Wording } from './wording.ts';

/** The source said no: to the key, or to this request. */
export function rejected(
  call: Call,
  status: number | null,
  verdict: Extract<Verdict, { kind: 'refused' | 'unauthorized' }>,
  wording: Wording,
): SluiceError {
  const known = status === null ? {} : { status };
  if (verdict.kind === 'unauthorized') {
    return new SluiceError('unauthorized', `The source refuses the API key for ${call.asked}: ${verdict.message}`, {
      ...known,
      next: `Check ${wording.apiKey} and what the key may do: in the source, Settings → API Access.`,
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

/** A create that is answered with 404: it is not documented whether that is about the address or about what the body points to. */
export function notFound(path: string): SluiceError {
  return new SluiceError('refused', `The source answers POST ${path} with 404, not found.`, {
    status: 404,
    next: 'Either it does not offer this, or what the body points to, such as a customer, is not there.',
  });
}

/** Nothing but failures through every attempt. What is too large stays so, and is refused. `unknown`: it may have been carried out. */
export function exhausted(
  call: Call,
  last: Attempt,
  verdict: Extract<Verdict, { kind: 'retry' }>,
  how: { tries: number; unknown: boolean; wording: Wording },
): SluiceError {
  const times = how.tries === 1 ? 'failed' : `failed ${how.tries} times`;
  const kind = verdict.asks === 'less' ? 'refused' : 'unavailable';
  return new SluiceError(kind, `${call.asked} ${times}: ${verdict.what}`, {
    next: how.unknown ? LOOK_FIRST : next(verdict.asks, how.wording),
    outcomeUnknown: how.unknown,
    ...(last.status !== null && { status: last.status }),
    ...(last.cause && { cause: last.cause }),
  });
}

function next(asks: 'another address' | 'less' | undefined, { url, askForLess, later }: Wording): string {
  if (asks === 'less') return askForLess;
  if (asks === undefined) return `Check that the source is up and ${url} is right; ${later}`;
  return `Set ${url} to the address that answers without a redirect; if it is right, the source sends everybody away for now, and ${later}`;
}
