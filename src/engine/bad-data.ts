/** Postgres refuses a value itself (SQLSTATE classes 22, data exception, and 23, integrity violation), rather than the moment. */
export function holdsBadData(error: unknown): error is Error & { code: string } {
  const code = (error as { code?: unknown } | null)?.code;
  return error instanceof Error && typeof code === 'string' && /^2[23]/.test(code);
}
