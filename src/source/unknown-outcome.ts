import { SluiceError } from '../errors.ts';

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
