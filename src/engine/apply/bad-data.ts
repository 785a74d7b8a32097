/** Postgres refuses a value itself (SQLSTATE classes 22, data exception, and 23, integrity violation; 54000, too long for an index), rather than the moment. */
export function holdsBadData(error: unknown): error is Error & { code: string } {
  const code = (error as { code?: unknown } | null)?.code;
  return error instanceof Error && typeof code === 'string' && /^2[23]|^54000$/.test(code);
}
