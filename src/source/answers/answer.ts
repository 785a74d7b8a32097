import { type Headers, parseRateHeaders } from '../http/rate-headers.ts';
import { isObject, parseJson } from './json.ts';

/** What `data` must be: an array, an object, or anything; for the last, which changes ask for, a status may say that there is no body. */
export type Expected = 'list' | 'one' | 'any';

/** One HTTP answer, decoded to text; the text of an answer other than 2xx may be cut. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * What to do about an answer. `what` and `message` are for people: what came back, or what the source says, at any length. `asks`: what a
 * thing that is tried again asks of the caller where it lasts, if not patience.
 */
export type Verdict =
  | { kind: 'success'; body: Record<string, unknown> }
  | { kind: 'retry'; what: string; minimumMs?: number; blocksKey: boolean; asks?: 'another address' | 'less' }
  | { kind: 'refused'; message: string; fields?: Record<string, string> }
  | { kind: 'unauthorized'; message: string }
  | { kind: 'gone' };

/**
 * The one place that says what an answer means. Success is 2xx and JSON and `success` not false and `data` of the expected
 * type, or a change that is answered with 204 or 205; else the status alone proves nothing, since errors come as 200 with an HTML
 * page or with `success: false` too.
 */
export function classify(answer: HttpAnswer, expected: Expected, time: { nowMs: number; windowMs: number }): Verdict {
  const { status } = answer;
  if (status === 404) return { kind: 'gone' };
  if (status === 429) return retryBlocked(answer, time);
  if (status === 408 || status >= 500) return retryLater(answer, `HTTP ${status} with ${describe(answer)}`, time);
  if (status >= 300 && status < 400) return redirected(answer, time);
  if (NO_CONTENT.has(status) && expected === 'any') return { kind: 'success', body: {} };
  const body = envelope(answer.text);
  if (status === 401 || status === 403) return { kind: 'unauthorized', message: said(body, `HTTP ${status}`) };
  if (status >= 400) return rejection(body, answer);
  if (body === undefined) return retryLater(answer, `HTTP ${status} with ${describe(answer)}`, time);
  if (body.success === false) return failureInside(body, answer, time);
  if (!holds(body.data, expected)) return retryLater(answer, `HTTP ${status} without ${NEEDS[expected]}`, time);
  return { kind: 'success', body };
}

const NO_CONTENT = new Set([204, 205]);
const NEEDS = { list: 'a list in `data`', one: 'an object in `data`', any: 'an answer' } as const;

/** A 4xx: which code goes with which error is not documented, so the body is asked too. */
function rejection(body: Record<string, unknown> | undefined, answer: HttpAnswer): Verdict {
  const fallback = `HTTP ${answer.status} with ${describe(answer)}`;
  if (body && refusesKey(body)) return { kind: 'unauthorized', message: said(body, fallback) };
  const fields = fieldMessages(body);
  return { kind: 'refused', message: said(body, fallback), ...(fields && { fields }) };
}

function failureInside(
  body: Record<string, unknown>,
  answer: HttpAnswer,
  time: { nowMs: number; windowMs: number },
): Verdict {
  const message = said(body, 'no message');
  if (refusesKey(body)) return { kind: 'unauthorized', message };
  const fields = fieldMessages(body);
  if (fields) return { kind: 'refused', message, fields };
  return retryLater(answer, `HTTP ${answer.status} with success: false (${message})`, time);
}

/** Where requests are left it is not the limit that blocks, so its reset is not what to wait for. */
function retryBlocked(answer: HttpAnswer, time: { nowMs: number; windowMs: number }): Verdict {
  const { retryAfterMs, resetMs, remaining = 0 } = parseRateHeaders(answer.headers, time);
  const minimumMs = retryAfterMs ?? (remaining > 0 ? undefined : resetMs);
  const what = 'HTTP 429, too many requests';
  return { kind: 'retry', what, blocksKey: true, ...(minimumMs !== undefined && { minimumMs }) };
}

/** The rate window's reset says nothing about when a failing server is back; only `Retry-After` does. */
function retryLater(
  answer: HttpAnswer,
  what: string,
  time: { nowMs: number; windowMs: number },
): Extract<Verdict, { kind: 'retry' }> {
  const minimumMs = parseRateHeaders(answer.headers, time).retryAfterMs;
  return { kind: 'retry', what, blocksKey: false, ...(minimumMs !== undefined && { minimumMs }) };
}

/** Services send to a login or maintenance page for a while, too: tried again, but never followed. */
function redirected(answer: HttpAnswer, time: { nowMs: number; windowMs: number }): Verdict {
  const what = `HTTP ${answer.status}, a redirect to ${target(answer)}, not followed because no other address may get the key`;
  return { ...retryLater(answer, what, time), asks: 'another address' };
}

function envelope(text: string): Record<string, unknown> | undefined {
  const value = decoded(text);
  return isObject(value) ? value : undefined;
}

/** Undefined when it is not JSON. */
function decoded(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function holds(data: unknown, expected: Expected): boolean {
  if (expected === 'any') return true;
  return expected === 'list' ? Array.isArray(data) : isObject(data);
}

/** Documented: an authentication error has a message and no `errors` object. */
function refusesKey(body: Record<string, unknown>): boolean {
  if (isObject(body.errors) || typeof body.message !== 'string') return false;
  return REFUSES_KEY.test(body.message) && !/too many|rate.?limit|quota/i.test(body.message);
}

const BAD = '(?:invalid|missing|unknown|expired|revoked|wrong|disabled|required|not valid|not found)';
const REFUSES_KEY = new RegExp(
  `\\b${BAD}\\b[^.]*\\b(?:key|token)\\b|\\b(?:key|token)\\b[^.]*\\b${BAD}\\b|unauthori[sz]ed|unauthenticated` +
    '|not authori[sz]ed|authentication (?:failed|required)|access denied|forbidden|permission',
  'i',
);

const MAX_FIELDS = 20;

function fieldMessages(body: Record<string, unknown> | undefined): Record<string, string> | undefined {
  if (!body || !isObject(body.errors)) return undefined;
  const fields = Object.entries(body.errors)
    .slice(0, MAX_FIELDS)
    .map(([field, message]) => [
      oneLine(field),
      oneLine(
        Array.isArray(message) ? message.join('; ') : typeof message === 'string' ? message : JSON.stringify(message),
      ),
    ]);
  return fields.length > 0 ? Object.fromEntries(fields) : undefined;
}

function said(body: Record<string, unknown> | undefined, fallback: string): string {
  return typeof body?.message === 'string' && body.message.trim() ? oneLine(body.message) : fallback;
}

function describe({ headers, text }: HttpAnswer): string {
  if (text.trim() === '') return 'an empty body';
  if (/^\s*</.test(text) || String(headers['content-type']).includes('html')) return 'an HTML page';
  if (!/^\ufeff?\s*[[{]/.test(text)) return 'a text that is not JSON';
  const value = decoded(text);
  if (value === undefined) return 'cut-off or invalid JSON';
  return isObject(value) ? 'a JSON error' : 'JSON without the documented envelope';
}

/** Without query and user name, which may hold the key or a session. */
function target({ headers }: HttpAnswer): string {
  const location = [headers.location].flat()[0];
  if (!location) return 'nowhere';
  const relative = !/^(?:[a-z][a-z\d+.-]*:|[\\/]{2})/i.test(location);
  if (!URL.canParse(location, 'https://same')) return 'an address that is none';
  const { protocol, host, pathname } = new URL(location, 'https://same');
  return oneLine(relative ? `${pathname} on the same host` : `${protocol}//${host}${pathname}`);
}

/** Control characters: a server's message must not steer a terminal. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
}
