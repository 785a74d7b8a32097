import { expect } from 'vitest';
import { SluiceError } from '../../src/errors.ts';

/** The error a promise is rejected with. */
export async function failure(promise: Promise<unknown>): Promise<SluiceError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SluiceError);
  return error as SluiceError;
}
