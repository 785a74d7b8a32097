import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';

/** Holds what `sessionOf` derives from the token. */
const SESSION_COOKIE = 'sluice';

/** 30 days in seconds. */
const SESSION_SECONDS = 30 * 24 * 3600;

const dropped = new WeakSet<Context>();

/** What a browser shows instead of the token: it ends with the token, and does not reveal it. */
export const sessionOf = (token: string): string =>
  createHmac('sha256', token).update('sluice session').digest('base64url');

export const startSession = (c: Context, token: string): void =>
  setHiddenCookie(c, SESSION_COOKIE, sessionOf(token), SESSION_SECONDS);

/** The session that the browser shows, right or wrong; undefined once `dropSession` took it away. */
export const sessionCookie = (c: Context): string | undefined =>
  dropped.has(c) ? undefined : getCookie(c, SESSION_COOKIE) || undefined;

export function dropSession(c: Context): void {
  dropped.add(c);
  deleteCookie(c, SESSION_COOKIE, { path: '/' });
}

/**
 * A cookie that scripts cannot read, and that needs HTTPS if the browser came by it. Without `maxAge` (seconds) it ends with the browser.
 * Strict: a page of another site never sends it.
 */
export function setHiddenCookie(c: Context, name: string, value: string, maxAge?: number): void {
  const secure = c.req.header('x-forwarded-proto')?.split(',')[0]?.trim() === 'https';
  setCookie(c, name, value, {
    httpOnly: true,
    sameSite: 'Strict',
    path: '/',
    secure,
    ...(maxAge === undefined ? {} : { maxAge }),
  });
}

/** Compares in constant time, whatever the lengths. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}
