import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { SluiceError } from '../../errors.ts';
import { isLoopback } from '../../loopback.ts';

const COOKIE = 'sluice';

/** What is open to other machines shows its pages to nobody without a token. */
export function refuseOpenDoor(host: string, token: string | null): void {
  if (token !== null || isLoopback(host)) return;
  throw new SluiceError(
    'configuration',
    `SLUICE_HOST is "${host}", which other machines reach, and SLUICE_TOKEN is not set.`,
    {
      next: 'Set SLUICE_TOKEN (for example to the output of: openssl rand -hex 24), or leave SLUICE_HOST at 127.0.0.1.',
    },
  );
}

/**
 * Lets in who has the token: as `Authorization: Bearer ..`, or once as `?token=..`, which becomes a cookie and leaves the address. The cookie is made
 * from the token and not the token itself. Without a token only this machine is answered, and only by its own names: a page
 * elsewhere that gives this address another name (DNS rebinding) reads nothing.
 */
export function guard(token: string | null): MiddlewareHandler {
  if (token === null) {
    return async (c, next) => {
      if (isLoopback(hostOf(c))) return next();
      return c.text(
        'Sluice answers by the names of this machine only. To reach it by another, set SLUICE_TOKEN.\n',
        403,
      );
    };
  }
  const session = createHmac('sha256', token).update('sluice session').digest('base64url');
  return async (c, next) => {
    const [scheme, given] = (c.req.header('authorization') ?? '').split(' ');
    if (scheme?.toLowerCase() === 'bearer' && isSame(given ?? '', token)) return next();
    const asked = c.req.method === 'GET' ? c.req.query('token') : undefined;
    if (asked !== undefined && isSame(asked, token)) {
      // Lax, not strict: the cookie has to come along when a link in a chat leads here, and no GET changes anything.
      const secure = c.req.header('x-forwarded-proto') === 'https';
      setCookie(c, COOKIE, session, { httpOnly: true, sameSite: 'Lax', path: '/', secure, maxAge: 30 * 24 * 3600 });
      // One slash: `//host/` would lead to another host.
      return c.redirect(c.req.path.replace(/^[/\\]+/, '/'), 303);
    }
    if (isSame(getCookie(c, COOKIE) ?? '', session)) return next();
    c.header('WWW-Authenticate', 'Bearer realm="sluice"');
    return c.text('A token is needed: Authorization: Bearer <SLUICE_TOKEN>, or once ?token=<SLUICE_TOKEN>.\n', 401);
  };
}

/** Takes the same time wherever the texts differ, and whatever their lengths are. */
export function isSame(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

function hostOf(c: Context): string {
  const host = c.req.header('host') ?? '';
  return host.replace(/:\d+$/, '');
}
