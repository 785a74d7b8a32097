import { createHmac, randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { isSameSecret } from './same-secret.ts';
import { sessionCookie, setHiddenCookie } from './session-cookie.ts';

/** Given to browsers that have no session: they have yet to log in, or the service needs no token. */
const VISITOR_COOKIE = 'sluice-visitor';

/** Of this process: its forms are out of date once it restarts. */
const KEY = randomBytes(32);

const visitors = new WeakMap<Context, string>();

/** The hidden field that each form must send back with a POST; gives the browser a cookie if it has none. Put it into no cached page. */
export function csrfField(c: Context): ReturnType<typeof html> {
  const browser = browserOf(c) ?? newVisitor(c);
  return html`<input type="hidden" name="csrf" value="${valueFor(browser)}">`;
}

/** Whether `given` is the field's value that this browser got. */
export function isCsrfOf(c: Context, given: string): boolean {
  const browser = browserOf(c);
  return browser !== undefined && isSameSecret(given, valueFor(browser));
}

// The session first: whoever may set cookies for this host knows the field of a visitor, but of no session.
const browserOf = (c: Context) => sessionCookie(c) ?? (getCookie(c, VISITOR_COOKIE) || undefined) ?? visitors.get(c);

function newVisitor(c: Context): string {
  const visitor = randomBytes(24).toString('base64url');
  // A page may hold several forms.
  visitors.set(c, visitor);
  setHiddenCookie(c, VISITOR_COOKIE, visitor);
  return visitor;
}

const valueFor = (browser: string) => createHmac('sha256', KEY).update(browser).digest('base64url');
