import { codeOf } from '../../errors.ts';

/**
 * True when Postgres refuses a value for its content, so that a retry would fail again: SQLSTATE classes 22 (data exception),
 * 23 (integrity violation) and 54 (program limit exceeded, such as too long for an index).
 */
export function isBadData(error: unknown): error is Error & { code: string } {
  return error instanceof Error && /^(?:22|23|54)/.test(codeOf(error));
}
