import { SluiceError } from '../../errors.ts';

/** The next step where a request that changes something may have arrived. */
export const LOOK_FIRST = 'It may have been carried out all the same: look in the source before repeating it.';

/** Stopped while a request that changes something was under way. */
export function stoppedUnderWay(asked: string, cause: SluiceError): SluiceError {
  return new SluiceError('stopped', `Stopped while ${asked} was under way.`, {
    next: LOOK_FIRST,
    outcomeUnknown: true,
    cause,
  });
}

/** What ends a request that changes something, where an attempt before it may have arrived. */
export function unknownBefore(asked: string, error: unknown): unknown {
  if (!(error instanceof SluiceError) || error.outcomeUnknown) return error;
  const { kind, message, status, fields } = error;
  return new SluiceError(kind, `${asked} had no sound answer at first, and then: ${message}`, {
    next: LOOK_FIRST,
    outcomeUnknown: true,
    cause: error,
    ...(status !== undefined && { status }),
    ...(fields && { fields }),
  });
}
