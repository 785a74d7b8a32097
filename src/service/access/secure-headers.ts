import { createHash } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';

/** Pages load and submit to nothing but this service, and are neither embedded nor cached. `style`: the inline one of the status page. */
export function secureHeaders(style: string): MiddlewareHandler {
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; style-src 'self' 'sha256-${hash}'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;
  return async (c, next) => {
    await next();
    c.header('Content-Security-Policy', policy);
    c.header('X-Content-Type-Options', 'nosniff');
    c.header('X-Frame-Options', 'DENY');
    c.header('Referrer-Policy', 'no-referrer');
    c.header('Cache-Control', 'no-store');
  };
}
