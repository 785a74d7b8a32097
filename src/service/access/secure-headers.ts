import { createHash } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';

/** Forbids loading, embedding, submitting and caching anything but the inline `style`, which the policy names by its hash. */
export function secureHeaders(style: string): MiddlewareHandler {
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  return async (c, next) => {
    await next();
    c.header('Content-Security-Policy', policy);
    c.header('X-Content-Type-Options', 'nosniff');
    c.header('X-Frame-Options', 'DENY');
    c.header('Referrer-Policy', 'no-referrer');
    c.header('Cache-Control', 'no-store');
  };
}
