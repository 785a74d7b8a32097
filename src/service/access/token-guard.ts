import { createHmac } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { Clock } from '../../clock.ts';
import { SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { isLoopback } from '../../loopback.ts';
import { createAttemptLimit } from './attempt-limit.ts';
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

/** Without a token, admits only loopback host names, so that DNS rebinding reads nothing. */
export function guardHost(token: string | null): MiddlewareHandler {
  return async (c, next) => {
    if (token !== null || isLoopback(hostOf(c))) return next();
    return c.text(
      'Without SLUICE_TOKEN, Sluice only answers requests to localhost. Set SLUICE_TOKEN to use another host name.\n',
      403,
    );
  };
}

/**
 * Admits requests with `Authorization: Bearer <token>`, or once with `?token=<token>`, which becomes a cookie derived from the token and is
 * removed from the address. After too many wrong tokens it looks at no more for a while, not even at the right one.
 */
export function guardToken(token: string, { clock, log }: { clock: Clock; log: Log }): MiddlewareHandler {
  const session = createHmac('sha256', token).update('sluice session').digest('base64url');
  const limit = createAttemptLimit(clock);
  return async (c, next) => {
    const given = credentialsOf(c);
    const { address = '' } = getConnInfo(c).remote;
    const waitSeconds = given.areNone ? 0 : limit.waitSeconds(address);
    if (waitSeconds > 0) {
      c.header('Retry-After', String(waitSeconds));
      return c.text(`Too many wrong tokens. Wait ${waitSeconds} seconds.\n`, 429);
    }
    if (isSameSecret(given.bearer, token)) {
      limit.countSuccess(address);
      return next();
    }
    if (isSameSecret(given.fromUrl, token)) {
      limit.countSuccess(address);
      // Lax, so that links from a chat work; no GET changes anything.
      const secure = c.req.header('x-forwarded-proto') === 'https';
      setCookie(c, COOKIE, session, { httpOnly: true, sameSite: 'Lax', path: '/', secure, maxAge: 30 * 24 * 3600 });
      return c.redirect(pathOnSite(c.req.path), 303);
    }
    if (isSameSecret(given.cookie, session)) {
      limit.countSuccess(address);
      return next();
    }
    if (!given.areNone && limit.countFailure(address))
      log.warn({ address }, 'too many wrong tokens; no more are looked at for up to a minute');
    c.header('WWW-Authenticate', 'Bearer realm="sluice"');
    return c.text(
      'Token required. Send Authorization: Bearer <SLUICE_TOKEN>, or open ?token=<SLUICE_TOKEN> once.\n',
      401,
    );
  };
}

/** The tokens that a request brings; empty where it brings none. The cookie is one, too: it can be computed for any guess. */
function credentialsOf(c: Context) {
  const [scheme, text = ''] = (c.req.header('authorization') ?? '').split(' ');
  const bearer = scheme?.toLowerCase() === 'bearer' ? text : '';
  const fromUrl = (c.req.method === 'GET' ? c.req.query('token') : undefined) ?? '';
  const cookie = getCookie(c, COOKIE) ?? '';
  return { bearer, fromUrl, cookie, areNone: bearer === '' && fromUrl === '' && cookie === '' };
}

/**
 * Where a redirect may lead: a path of plain segments, else the start page. Browsers drop tabs and line ends and read backslashes as
 * slashes, so that `/%09/host` or `/\host` would lead to another site.
 */
export const pathOnSite = (path: string): string => (/^(\/[\w.~-]+)+\/?$/.test(path) ? path : '/');

function hostOf(c: Context): string {
  const host = c.req.header('host') ?? '';
  return host.replace(/:\d+$/, '');
}
