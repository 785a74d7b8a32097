import { createHmac } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { type Html, htmlDocument } from '../html-document.ts';
import { type AttemptLimit, addressOf, isSameSecret, tooManyTokens } from './attempt-limit.ts';
import { formFields } from './form-guard.ts';

/**
 * Holds what `sessionOf` derives from the token. Cookies ignore ports, so its name has the one that the browser asked: of two services on a host,
 * each has its own. A name that depends on the token would let each guess bring its own, of which no wrong one is seen to be counted.
 */
const cookieName = (c: Context): string => {
  const port = /:(\d+)$/.exec(c.req.header('host') ?? '')?.[1];
  return port === undefined ? 'sluice' : `sluice_${port}`;
};

/** 30 days in seconds. */
const SESSION_SECONDS = 30 * 24 * 3600;

/** What a browser shows instead of the token: it ends with the token, and does not reveal it. */
export const sessionOf = (token: string): string =>
  createHmac('sha256', token).update('sluice session').digest('base64url');

/** The session that the browser shows, right or wrong. */
export const sessionCookie = (c: Context): string => getCookie(c, cookieName(c)) ?? '';

export const dropSession = (c: Context): void => void deleteCookie(c, cookieName(c), { path: '/' });

/** Scripts cannot read its cookie, pages of other sites never send it, and it needs HTTPS if the browser came by it. */
export function startSession(c: Context, token: string): void {
  const secure = c.req.header('x-forwarded-proto')?.split(',')[0]?.trim() === 'https';
  const options = { httpOnly: true, sameSite: 'Strict', path: '/', secure, maxAge: SESSION_SECONDS } as const;
  setCookie(c, cookieName(c), sessionOf(token), options);
}

/** `POST /login`, in front of `guardToken`: turns the token into a session. */
export function loginRoutes({ token, attempts }: { token: string; attempts: AttemptLimit }): Hono {
  return new Hono().post('/login', async c => {
    const { token: given = '', next = '/' } = await formFields(c);
    const target = pathOnSite(next);
    const waitSeconds = attempts.waitSeconds(addressOf(c));
    if (waitSeconds > 0) {
      c.header('Retry-After', String(waitSeconds));
      return c.html(loginPage(target, tooManyTokens(waitSeconds)), 429);
    }
    const isRight = isSameSecret(given, token);
    attempts.count(addressOf(c), isRight);
    if (!isRight) return c.html(loginPage(target, 'That is not the token.'), 401);
    startSession(c, token);
    return c.redirect(target, 303);
  });
}

/** `GET /login` and `POST /logout`, behind `guardToken`, which asks browsers without a session to log in. */
export function logoutRoutes(): Hono {
  return new Hono()
    .get('/login', c => c.html(logoutPage))
    .post('/logout', c => {
      dropSession(c);
      return c.redirect('/login', 303);
    });
}

/**
 * Asks for the token, and leads to `next` (a path of this service) afterwards. `trouble`: why the last try failed. Without the sections of
 * the console, whose pages need a session, and without its script, which would reload a half-typed form.
 */
export const loginPage = (next: string, trouble: string | null): Html =>
  htmlDocument({
    title: 'Log in',
    main: html`<h1>Log in to Sluice</h1>
<form class="card" method="post" action="/login">
<input type="hidden" name="next" value="${next}">
${trouble === null ? '' : html`<p class="bad" role="alert" id="trouble">${trouble}</p>`}
<p><label for="token">Token</label></p>
<p><input id="token" name="token" type="password" autocomplete="current-password" required autofocus${
      trouble === null ? '' : html` aria-invalid="true" aria-describedby="trouble"`
    }></p>
<p class="soft">The value of <code>SLUICE_TOKEN</code> in the settings of Sluice.</p>
<p class="after"><button class="main">Log in</button></p>
</form>`,
  });

const logoutPage = htmlDocument({
  title: 'Logged in',
  main: html`<h1>You are logged in</h1>
<form class="card" method="post" action="/logout">
<p>This browser stays logged in for 30 days after you entered the token, or until the token changes.</p>
<p class="row after"><a class="btn main" href="/">Open the console</a><button>Log out</button></p>
</form>`,
});

/** Asks for `path` at once, from this site. */
export const openingPage = (path: string): Html => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sluice</title><meta http-equiv="refresh" content="0; url=${path}"></head>
<body><p><a href="${path}">Open the page</a></p></body></html>`;

/**
 * Where a redirect may lead: a path of plain segments with its query, else the start page. Browsers drop tabs and line ends and read
 * backslashes as slashes, so that `/%09/host` or `/\host` would lead to another site.
 */
export const pathOnSite = (path: string): string => (/^(\/[\w.~-]+)+\/?(\?[\w.~%=&+-]*)?$/.test(path) ? path : '/');
