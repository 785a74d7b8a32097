import { readFileSync } from 'node:fs';
import { SluiceError } from '../../errors.ts';

/** The text of a file that a command names. Kind `usage` where it cannot be read or is not UTF-8; `expected`: what it should be, for the next step. */
export function readNamed(path: string, expected: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (cause) {
    const why = cause instanceof TypeError ? 'it is not UTF-8' : (cause as Error).message;
    throw new SluiceError('usage', `${path} cannot be read: ${why}.`, { next: `Expected: ${expected}`, cause });
  }
}
