import { SluiceError } from '../../errors.ts';

/** The next step after a request that changes something and may have arrived. */
export const CHECK_FIRST = 'It may have been carried out: check the source before you repeat it.';

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
