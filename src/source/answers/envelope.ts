import { asList, isNamedByField, isObject, parseJson } from './json.ts';
import { type BodyText, beginning } from './text.ts';

/** What `data` must be: an array, an object, the object at its own address, or anything. Only for `any`, which changes ask for, a status without a body is a success. */
export type Expected = 'list' | 'one' | 'record' | 'any';

interface Envelope {
  readonly body: Record<string, unknown> | undefined;
  /** How many records of `data` held invalid bytes. */
  readonly replaced?: number;
  /** The order of `data` is not that of the answer. */
  readonly unordered?: true;
}

/** The body of an answer, undefined if it is not a JSON object; U+FFFD replaces invalid bytes. */
export function readEnvelope({ text, mark }: BodyText, expected: Expected): Envelope {
  const { body, ...shape } = envelopeIn(text, expected);
  if (mark === undefined || body === undefined) return { body, ...shape };
  const records = Array.isArray(body.data) ? body.data : [body.data];
  const replaced = records.filter(record => JSON.stringify(record)?.includes(mark)).length;
  return { ...envelopeIn(text.replaceAll(mark, '\ufffd'), expected), replaced };
}

function envelopeIn(text: string, expected: Expected): Envelope {
  const body = jsonIn(text);
  if (!isObject(body)) return { body: undefined };
  const { data } = body;
  if (expected !== 'list' || !isObject(data)) return { body };
  return { body: { ...body, data: asList(data) }, ...(isNamedByField(data) && { unordered: true as const }) };
}

/** Returns undefined for text that is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** A change that succeeded may report errors of parts of it, which its caller reads. */
export function saysFailure(body: Record<string, unknown>, expected: Expected): boolean {
  if (deniesSuccess(body.success)) return true;
  const isPartial = expected === 'any' && body.success !== undefined;
  return !isPartial && (holdsError(body.error) || holdsError(body.errors));
}

const TRUE = /^(?:true|yes|y|ok|on|success(?:ful)?|[1-9]\d*)$/i;
const FALSE = /^(?:false|no|n|off|none|null|0+)?$/i;

/** Whether a `success` field denies success: whatever is not some spelling of true. An absent field says nothing. */
export function deniesSuccess(success: unknown): boolean {
  if (success === undefined || success === true) return false;
  if (typeof success === 'number') return success === 0;
  return typeof success !== 'string' || !TRUE.test(success.trim());
}

/** Whether an `error` or `errors` field holds an error: not an empty value, in any spelling, nor a list or object of such values only. */
export function holdsError(error: unknown): boolean {
  if (error === null || typeof error !== 'object')
    return typeof error === 'string' ? !FALSE.test(error.trim()) : Boolean(error);
  return Object.values(error).some(holdsError);
}

/** The key itself is refused; what it may not read is refused by itself. As documented, such an error has a message and no `errors` object. */
export function refusesKey(body: Record<string, unknown>): boolean {
  const message = messageIn(body);
  if (isObject(body.errors) || message === undefined) return false;
  const text = beginning(message);
  return REFUSES_KEY.test(text) && !LIMITS_KEY.test(text);
}

const BAD = '(?:invalid|missing|unknown|expired|revoked|wrong|disabled|required|not valid|not found)';
const REFUSES_KEY = new RegExp(
  `\\b${BAD}\\b[^.]{0,200}\\b(?:key|token)\\b|\\b(?:key|token)\\b[^.]{0,200}\\b${BAD}\\b|unauthori[sz]ed|unauthenticated` +
    '|authentication (?:failed|required)',
  'i',
);

/** The key is right, but it was used too often, or may not do this. */
const LIMITS_KEY =
  /too many|rate.?limit|quota|\bpermissions?\b|\bscopes?\b|\bprivileges?\b|\brights?\b|unauthori[sz]ed (?:to|for)\b/i;

const MAX_FIELDS = 20;

/** The problems by field; undefined without any. */
export function fieldMessages(body: Record<string, unknown> | undefined): Record<string, string> | undefined {
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

/** The message for people, or `fallback`. */
export function said(body: Record<string, unknown> | undefined, fallback: string): string {
  const message = body && messageIn(body);
  return message === undefined ? fallback : oneLine(message);
}

/** The message of the envelope, or else that of its `error`. */
function messageIn({ message, error }: Record<string, unknown>): string | undefined {
  const texts = [message, error, isObject(error) ? error.message : undefined];
  return texts.find((text): text is string => typeof text === 'string' && text.trim() !== '');
}

/** Removes control characters: a server's message must not control a terminal. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
}
