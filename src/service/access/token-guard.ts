import { createHmac } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { SluiceError } from '../../errors.ts';
import { isLoopback } from '../../loopback.ts';
import { isSameSecret } from './same-secret.ts';

const COOKIE = 'sluice';

/** Kind `configuration` where other machines could read the pages without a token. */
export function refuseUnprotectedHost(host: string, token: string | null): void {
  if (token !== null || isLoopback(host)) return;
  throw new SluiceError(
    'configuration',
    `SLUICE_HOST is "${host}", which other machines can reach, and SLUICE_TOKEN is not set.`,
    {
      next: 'Set SLUICE_TOKEN (for example to the output of: openssl rand -hex 24), or leave SLUICE_HOST at 127.0.0.1.',
    },
  );
}

/**
 * Admits requests with `Authorization: Bearer <token>`, or once with `?token=<token>`, which becomes a cookie derived from the token and is
 * removed from the address. Without a token it admits only loopback host names, so that DNS rebinding reads nothing.
 */
export function guard(token: string | null): MiddlewareHandler {
  if (token === null) {
    return async (c, next) => {
      if (isLoopback(hostOf(c))) return next();
      return c.text(
        'Without SLUICE_TOKEN, Sluice only answers requests to localhost. Set SLUICE_TOKEN to use another host name.\n',
        403,
      );
    };
  }
  const session = createHmac('sha256', token).update('sluice session').digest('base64url');
  return async (c, next) => {
    const [scheme, given] = (c.req.header('authorization') ?? '').split(' ');
    if (scheme?.toLowerCase() === 'bearer' && isSameSecret(given ?? '', token)) return next();
    const fromUrl = c.req.method === 'GET' ? c.req.query('token') : undefined;
    if (fromUrl !== undefined && isSameSecret(fromUrl, token)) {
      // Lax, so that links from a chat work; no GET changes anything.
      const secure = c.req.header('x-forwarded-proto') === 'https';
      setCookie(c, COOKIE, session, { httpOnly: true, sameSite: 'Lax', path: '/', secure, maxAge: 30 * 24 * 3600 });
      // `//host/` would redirect to another host.
      return c.redirect(c.req.path.replace(/^[/\\]+/, '/'), 303);
    }
    if (isSameSecret(getCookie(c, COOKIE) ?? '', session)) return next();
    c.header('WWW-Authenticate', 'Bearer realm="sluice"');
    return c.text(
      'Token required. Send Authorization: Bearer <SLUICE_TOKEN>, or open ?token=<SLUICE_TOKEN> once.\n',
      401,
    );
  };
}

function hostOf(c: Context): string {
  const host = c.req.header('host') ?? '';
  return host.replace(/:\d+$/, '');
}
