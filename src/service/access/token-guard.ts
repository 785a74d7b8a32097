import type { Context, MiddlewareHandler } from 'hono';
import { SluiceError } from '../../errors.ts';
import { isLoopback } from '../../loopback.ts';
import { type AttemptLimit, addressOf, isSameSecret, tooManyTokens } from './attempt-limit.ts';
import { dropSession, loginPage, openingPage, pathOnSite, sessionCookie, sessionOf, startSession } from './login.ts';

/** The page to log in needs its style, which holds no secret. */
const OPEN_PATH = '/console.css';

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
    if (token !== null || isLoopback((c.req.header('host') ?? '').replace(/:\d+$/, ''))) return next();
    return c.text(
      'Without SLUICE_TOKEN, Sluice only answers requests to localhost. Set SLUICE_TOKEN to use another host name.\n',
      403,
    );
  };
}

/**
 * Admits requests with `Authorization: Bearer <token>`, with the cookie of a login, or once with `?token=<token>`, which becomes that cookie
 * and is removed from the address. Browsers without any are asked to log in. After too many wrong tokens it looks at no more for a while,
 * not even at the right one.
 */
export function guardToken({ token, attempts }: { token: string; attempts: AttemptLimit }): MiddlewareHandler {
  const session = sessionOf(token);
  return async (c, next) => {
    if (c.req.path === OPEN_PATH) return next();
    const { bearer, fromUrl, cookie } = credentialsOf(c);
    const areNone = bearer === '' && fromUrl === '' && cookie === '';
    const waitSeconds = areNone ? 0 : attempts.waitSeconds(addressOf(c));
    if (waitSeconds > 0) {
      c.header('Retry-After', String(waitSeconds));
      return refuse(c, 429, tooManyTokens(waitSeconds));
    }
    const entered = isSameSecret(fromUrl, token);
    const admitted = isSameSecret(bearer, token) || isSameSecret(cookie, session);
    if (!areNone) attempts.count(addressOf(c), entered || admitted);
    if (entered) {
      startSession(c, token);
      return c.redirect(pathOnSite(c.req.path), 303);
    }
    if (admitted) return next();
    // A strict cookie stays at home when a link of another site is followed, such as one in a chat; it comes with the next request.
    if (areNone && c.req.header('sec-fetch-site') === 'cross-site' && c.req.header('sec-fetch-mode') === 'navigate')
      return c.html(openingPage(returnPath(c)), 401);
    // Else each page that stays open would try it again and again.
    if (cookie !== '') dropSession(c);
    c.header('WWW-Authenticate', 'Bearer realm="sluice"');
    return refuse(c, 401, fromUrl === '' ? null : 'That is not the token.');
  };
}

/** With the page to log in for browsers, else with text. */
function refuse(c: Context, status: 401 | 429, trouble: string | null) {
  if (c.req.header('accept')?.includes('text/html')) return c.html(loginPage(returnPath(c), trouble), status);
  const how = 'Token required. Send Authorization: Bearer <SLUICE_TOKEN>, or open ?token=<SLUICE_TOKEN> once.';
  return c.text(`${status === 429 ? trouble : how}\n`, status);
}

/** Where a login leads: to the page that was asked for, without a token in its address. */
function returnPath(c: Context): string {
  const { pathname, search } = new URL(c.req.url);
  if (c.req.method !== 'GET' || pathname === '/login') return '/';
  return pathOnSite(c.req.query('token') === undefined ? pathname + search : pathname);
}

/** The tokens that a request brings; empty where it brings none. The cookie is one, too: it can be computed for any guess. */
function credentialsOf(c: Context) {
  const [scheme, text = ''] = (c.req.header('authorization') ?? '').split(' ');
  const bearer = scheme?.toLowerCase() === 'bearer' ? text : '';
  const fromUrl = (c.req.method === 'GET' ? c.req.query('token') : undefined) ?? '';
  return { bearer, fromUrl, cookie: sessionCookie(c) };
}
