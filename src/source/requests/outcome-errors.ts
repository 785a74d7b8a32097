import { SluiceError } from '../../errors.ts';
import type { Verdict } from '../answers/classify.ts';
import type { Wording } from '../http/wording.ts';

/** The source refused the key, or this request. */
export function rejected(
  label: string,
  status: number | null,
  verdict: Extract<Verdict, { kind: 'refused' | 'unauthorized' }>,
  wording: Wording,
): SluiceError {
  const known = status === null ? {} : { status };
  const checkKey = `Check ${wording.apiKey} and the permissions of the key: in the source, Settings → API Access.`;
  if (verdict.kind === 'unauthorized') {
    return new SluiceError('unauthorized', `The source refuses the API key for ${label}: ${verdict.message}`, {
      ...known,
      next: checkKey,
    });
  }
  const { fields, message } = verdict;
  const details = Object.entries(fields ?? {}).map(([field, text]) => `${field}: ${text}`);
  const listed = details.length > 0 ? ` (${details.join('; ')})` : '';
  return new SluiceError('refused', `The source refuses ${label}: ${message}${listed}`, {
    ...known,
    ...(fields && { fields }),
    next: status === 403 ? checkKey : 'The source would refuse the same request again.',
  });
}

/** A create answered with 404: the API's document does not say whether that is about the address or about a record the body refers to. */
export function notFound(path: string): SluiceError {
  return new SluiceError('refused', `The source answers POST ${path} with 404, not found.`, {
    status: 404,
    next: 'Either the source does not offer this, or a record that the body refers to, such as the customer, does not exist.',
  });
}

/** Every attempt failed. An answer that is too large is refused, since it stays so. `unknown`: an attempt may have been carried out. */
export function exhausted(
  label: string,
  last: { readonly status: number | null; readonly cause?: Error },
  verdict: Extract<Verdict, { kind: 'retry' }>,
  how: { tries: number; unknown: boolean; wording: Wording },
): SluiceError {
  const times = how.tries === 1 ? 'failed' : `failed ${how.tries} times`;
  const kind = verdict.asks === 'less' ? 'refused' : 'unavailable';
  return new SluiceError(kind, `${label} ${times}: ${verdict.what}`, {
    next: how.unknown ? CHECK_FIRST : nextStep(verdict, how.wording),
    outcomeUnknown: how.unknown,
    ...(last.status !== null && { status: last.status }),
    ...(last.cause && { cause: last.cause }),
  });
}

function nextStep(
  { asks, refusal }: Extract<Verdict, { kind: 'retry' }>,
  { url, askForLess, concurrency, later }: Wording,
): string {
  if (asks === 'less') return askForLess;
  if (refusal === 'crowded')
    return `Lower ${concurrency}, and check whether other programs send requests with this key; ${later}`;
  if (asks === undefined) return `Check that the source is up and ${url} is right; ${later}`;
  return `Set ${url} to the address that answers without a redirect. If it is right, the source is redirecting all requests for now; ${later}`;
}

/** The next step after a request that changes something and may have arrived. */
const CHECK_FIRST = 'It may have been carried out: check the source before you repeat it.';

/** Stopped while a request that changes something was in flight. */
export function stoppedInFlight(label: string, cause: SluiceError): SluiceError {
  return new SluiceError('stopped', `Stopped while ${label} was in flight.`, {
    next: CHECK_FIRST,
    outcomeUnknown: true,
    cause,
  });
}

/** Marks the error that ended a request that changes something, when an earlier attempt may have arrived. */
export function unknownBefore(label: string, error: unknown): unknown {
  if (!(error instanceof SluiceError) || error.outcomeUnknown) return error;
  const { kind, message, status, fields } = error;
  return new SluiceError(kind, `An earlier attempt of ${label} got no valid answer; the last one failed: ${message}`, {
    next: CHECK_FIRST,
    outcomeUnknown: true,
    cause: error,
    ...(status !== undefined && { status }),
    ...(fields && { fields }),
  });
}
