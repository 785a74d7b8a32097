import {
  deniesSuccess,
  type Expected,
  fieldMessages,
  jsonIn,
  oneLine,
  readEnvelope,
  refusesKey,
  said,
  saysFailure,
} from './envelope.ts';
import { isObject } from './json.ts';
import { type Headers, namesConcurrency, parseRateHeaders, type Refusal, refusalOf } from './rate-limit.ts';
import { type BodyText, beginning } from './text.ts';

/** One HTTP answer, decoded; the text of an answer other than 2xx may be truncated, and has no mark. */
export interface HttpAnswer extends BodyText {
  status: number;
  headers: Headers;
}

/**
 * What to do about an answer. `what` describes the answer and `message` quotes the source, both for people and of any length. `asks` is
 * what the caller has to change when retries do not help: the address, or the amount requested. `refusal`: the source did not
 * try, because its limit is used up or it serves too many requests. `gone`: 404 or 410; `instead` is what the address of a record
 * says in place of these.
 */
export type Verdict =
  | Success
  | { kind: 'retry'; what: string; minimumMs?: number; refusal?: Refusal; asks?: 'another address' | 'less' }
  | { kind: 'refused'; message: string; fields?: Record<string, string> }
  | { kind: 'unauthorized'; message: string }
  | { kind: 'gone'; instead?: string };

export interface Success {
  kind: 'success';
  body: Record<string, unknown>;
  /** How many records of `data` came with bytes that are invalid in the answer's encoding; U+FFFD replaces them. Absent without such bytes. */
  replaced?: number;
  /** `data` is a list, but not in the order of the answer. */
  unordered?: true;
  /** Of the body, where it was asked for. */
  digest?: string;
  /** The body is the one that came before: `body` holds only its `meta`, and this reads all of it. */
  reread?: () => Verdict;
}

/** The moment, the length of the rate window, and the share of the limit that we have not used. */
export interface Known {
  readonly nowMs: number;
  readonly windowMs: number;
  readonly unused: number;
}

/**
 * Decides what an answer means. A success is 2xx with JSON, `success` true or absent, no error, and `data` of the expected type, or a change
 * answered with 204 or 205. The status alone proves nothing: errors also come as 200 with an HTML page, with `success: 0`, or with
 * `error` beside an empty list.
 */
export function classify(answer: HttpAnswer, expected: Expected, known: Known): Verdict {
  const { status } = answer;
  if (status === 404 || status === 410) return { kind: 'gone' };
  if (status === 429) return refusedForNow(answer, known);
  if (status === 408 || status >= 500) return serverFailed(answer, known);
  if (status >= 300 && status < 400) return redirected(answer, known);
  if (NO_CONTENT.has(status) && expected === 'any') return { kind: 'success', body: {} };
  const { body, ...shape } = readEnvelope(answer, expected);
  if (status === 401) return { kind: 'unauthorized', message: said(body, `HTTP ${status}`) };
  const instead = expected === 'record' ? saysNoRecord(body, status) : null;
  if (instead !== null) return { kind: 'gone', instead };
  if (expected === 'list' && status < 300 && saysNoRows(body)) return { kind: 'success', body: { ...body, data: [] } };
  if (status >= 400) return rejection(body, answer);
  if (body === undefined) return retryLater(answer, `HTTP ${status} with ${describe(answer)}`, known);
  if (saysFailure(body, expected)) return failureInside(body, answer, known);
  if (!holds(body.data, expected)) return retryLater(answer, `HTTP ${status} without ${NEEDS[expected]}`, known);
  return { kind: 'success', body, ...shape };
}

/** How the address of a record that does not exist may answer, other than by its status; null for any other answer. */
function saysNoRecord(body: Record<string, unknown> | undefined, status: number): string | null {
  if (body === undefined || refusesKey(body)) return null;
  const isRefused = status >= 400 || saysFailure(body, 'record');
  if (isRefused) return NO_RECORD.test(beginning(said(body, ''))) ? `HTTP ${status}: ${said(body, '')}` : null;
  const isEmpty = body.data === null || body.data === false || (Array.isArray(body.data) && body.data.length === 0);
  return isEmpty ? `HTTP ${status} with data ${JSON.stringify(body.data)}` : null;
}

const NO_RECORD = /\bnot found\b|\bno such\b|\bdoes not exist\b|\bdoesn't exist\b|\bno record/i;

/**
 * How a list without rows may answer other than with an empty one or 404: with words that say so and nothing else, or, if it says nothing or that
 * all went well, without a list.
 */
function saysNoRows(body: Record<string, unknown> | undefined): boolean {
  if (body === undefined || refusesKey(body)) return false;
  if (body.data instanceof Object && Object.keys(body.data).length > 0) return false;
  const message = beginning(said(body, ''));
  if (NO_ROWS.test(message)) return true;
  const isEmpty = body.data === null || isObject(body.data);
  return isEmpty && !saysFailure(body, 'list') && [message, body.status, body.code].every(saysNothing);
}

/** "No records found", perhaps for what was asked; but not "No data for your plan", nor "Account suspended. No records found." */
const NO_ROWS =
  /^(?:sorry, )?(?:there (?:are|is|were) )?no (?:matching )?(?:records?|results?|rows?|entries|items|data|matches)(?: (?:were |was )?(?:found|available|match(?:ed)?))?(?: (?:for|in|match(?:ing|es)?) (?:this|the|these|your) (?:given |selected |requested )?(?:date )?(?:filters?|period|query|criteria|search|range|dates?|request|page))?[.!]?$/i;

/** A message, status or code that is absent, or that no failure has. */
const saysNothing = (text: unknown): boolean =>
  text === undefined || text === null || text === '' || ALL_WELL.test(String(text));

const ALL_WELL =
  /^(?:ok|success(?:ful(?:ly)?)?|true|[01]|2\d\d|(?:data|list|records?) (?:retrieved|fetched|loaded|listed)(?: successfully)?)[.!]?$/i;

const NO_CONTENT = new Set([204, 205]);
const NEEDS = {
  list: 'a list in `data`',
  one: 'an object in `data`',
  record: 'an object in `data`',
  any: 'an answer',
} as const;

/** Which 4xx code goes with which error is not documented, so the body is examined too. */
function rejection(body: Record<string, unknown> | undefined, answer: HttpAnswer): Verdict {
  const fallback = `HTTP ${answer.status} with ${describe(answer)}`;
  if (body && refusesKey(body)) return { kind: 'unauthorized', message: said(body, fallback) };
  const fields = fieldMessages(body);
  return { kind: 'refused', message: said(body, fallback), ...(fields && { fields }) };
}

const failureIn = ({ success }: Record<string, unknown>): string =>
  deniesSuccess(success) ? `success: ${JSON.stringify(success)}` : 'an error';

function failureInside(body: Record<string, unknown>, answer: HttpAnswer, known: Known): Verdict {
  const message = said(body, 'no message');
  if (refusesKey(body)) return { kind: 'unauthorized', message };
  const fields = fieldMessages(body);
  if (fields) return { kind: 'refused', message, fields };
  if (DENIES_ACCESS.test(beginning(message))) return { kind: 'refused', message };
  return retryLater(answer, `HTTP ${answer.status} with ${failureIn(body)} (${message})`, known);
}

/** If requests remain, it is not the limit that blocks, and the limit's reset is not what to wait for. */
function refusedForNow(answer: HttpAnswer, known: Known): Verdict {
  const headers = parseRateHeaders(answer.headers, known);
  const refusal = refusalOf(headers, answer.text, known.unused);
  const minimumMs = headers.retryAfterMs ?? (refusal === 'quota' ? headers.resetMs : undefined);
  const what = refusal === 'quota' ? 'HTTP 429, too many requests' : 'HTTP 429, too many requests at once';
  return { kind: 'retry', what, refusal, ...(minimumMs !== undefined && { minimumMs }) };
}

function serverFailed(answer: HttpAnswer, known: Known): Verdict {
  const verdict = retryLater(answer, `HTTP ${answer.status} with ${describe(answer)}`, known);
  if (answer.status !== 503 || !namesConcurrency(answer.text)) return verdict;
  return { ...verdict, what: 'HTTP 503, too many requests at once', refusal: 'crowded' };
}

/** Only `Retry-After` says when a failing server is back; the reset of the rate window does not. */
function retryLater(answer: HttpAnswer, what: string, known: Known): Extract<Verdict, { kind: 'retry' }> {
  const minimumMs = parseRateHeaders(answer.headers, known).retryAfterMs;
  return { kind: 'retry', what, ...(minimumMs !== undefined && { minimumMs }) };
}

/** Redirects to a login or maintenance page may be temporary: they are retried, but never followed. */
function redirected(answer: HttpAnswer, known: Known): Verdict {
  const what = `HTTP ${answer.status}, a redirect to ${target(answer)}, not followed because no other address may receive the key`;
  return { ...retryLater(answer, what, known), asks: 'another address' };
}

function holds(data: unknown, expected: Expected): boolean {
  if (expected === 'any') return true;
  return expected === 'list' ? Array.isArray(data) : isObject(data);
}

/** What the key may not read, whatever else it may. */
const DENIES_ACCESS = /\bpermission\b|\bforbidden\b|\baccess denied\b/i;

function describe({ headers, text }: HttpAnswer): string {
  const start = text.trimStart();
  if (start === '') return 'an empty body';
  if (start.startsWith('<') || String(headers['content-type']).includes('html')) return 'an HTML page';
  if (!/^[[{]/.test(start)) return 'a text that is not JSON';
  const value = jsonIn(text);
  if (value === undefined) return 'cut-off or invalid JSON';
  return isObject(value) ? 'a JSON error' : 'JSON without the documented envelope';
}

/** Shown without query and user name, which may hold the key or a session. */
function target({ headers }: HttpAnswer): string {
  const location = [headers.location].flat()[0];
  if (!location) return 'nowhere';
  const relative = !/^(?:[a-z][a-z\d+.-]*:|[\\/]{2})/i.test(location);
  if (!URL.canParse(location, 'https://same')) return 'an invalid address';
  const { protocol, host, pathname } = new URL(location, 'https://same');
  return oneLine(relative ? `${pathname} on the same host` : `${protocol}//${host}${pathname}`);
}
