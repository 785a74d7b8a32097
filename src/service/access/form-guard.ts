import { createHmac, randomBytes } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { html } from 'hono/html';
import type { Html } from '../html-document.ts';
import { isSameSecret, sessionCookie, setHiddenCookie } from './session-cookie.ts';

const MOST_BYTES = 64 * 1024;
const READING: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

const OUT_OF_DATE =
  'This form is out of date: Sluice restarted, or you logged in or out. Go back, reload the page, and send it again.\n';

/**
 * Whatever is no GET must be a form of this service: sent by one of its pages, urlencoded, at most 64 KB, and with the field that
 * `csrfField` gave this browser. Routes read it with `formFields`.
 */
export function guardForms(): MiddlewareHandler {
  return async (c, next) => {
    if (READING.includes(c.req.method)) return next();
    if (isFromElsewhere(c)) return c.text('Refused: this form was sent by a page of another site.\n', 403);
    // The length bounds the body: Node reads no more, and refuses requests that have both headers.
    if (c.req.header('transfer-encoding') !== undefined) return c.text('Send Content-Length.\n', 411);
    if (Number(c.req.header('content-length') ?? 0) > MOST_BYTES)
      return c.text('The form is larger than 64 KB.\n', 413);
    const type = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase();
    if (type !== undefined && type !== 'application/x-www-form-urlencoded')
      return c.text('Send application/x-www-form-urlencoded.\n', 415);
    const { csrf } = await formFields(c);
    const browser = browserOf(c);
    const isOurs = csrf !== undefined && browser !== undefined && isSameSecret(csrf, valueFor(browser));
    return isOurs ? next() : c.text(OUT_OF_DATE, 403);
  };
}

/** The fields of a form that are texts. */
export async function formFields(c: Context): Promise<Readonly<Record<string, string | undefined>>> {
  const fields = Object.entries(await c.req.parseBody());
  return Object.fromEntries(fields.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])));
}

/**
 * What the browser says about the page that sent a request. Without `Sec-Fetch-Site`, which it sends over HTTPS and to localhost, `Origin`
 * must name this host. Our own pages send `Origin: null`, because they have the policy `no-referrer`; then the field alone decides.
 */
function isFromElsewhere(c: Context): boolean {
  const site = c.req.header('sec-fetch-site');
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const origin = c.req.header('origin');
  if (origin === undefined || origin === 'null') return false;
  return !URL.canParse(origin) || new URL(origin).host !== c.req.header('host')?.toLowerCase();
}

/** Given to browsers that have no session: they have yet to log in, or the service needs no token. */
const VISITOR_COOKIE = 'sluice-visitor';

/** Of this process: its forms are out of date once it restarts. */
const KEY = randomBytes(32);

const visitors = new WeakMap<Context, string>();

/** The hidden field that each form must send back with a POST; gives the browser a cookie if it has none. Put it into no cached page. */
export function csrfField(c: Context): Html {
  const browser = browserOf(c) ?? newVisitor(c);
  return html`<input type="hidden" name="csrf" value="${valueFor(browser)}">`;
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
