/**
 * True when Postgres refuses a value for its content, so that a retry would fail again: SQLSTATE classes 22 (data exception)
 * and 23 (integrity violation), and 54000 (too long for an index).
 */
export function isBadData(error: unknown): error is Error & { code: string } {
  const code = (error as { code?: unknown } | null)?.code;
  return error instanceof Error && typeof code === 'string' && /^2[23]|^54000$/.test(code);
}
