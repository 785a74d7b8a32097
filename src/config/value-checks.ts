import { z } from 'zod';
import { isLoopback } from '../loopback.ts';

/** A setting whose text must pass `accepts`; `expected` completes "expected ...". */
export const checked = (expected: string, accepts: (text: string) => boolean) => z.string().refine(accepts, expected);

export const oneOf = <const V extends string>(...values: V[]) => z.enum(values, `one of ${values.join(', ')}`);

export const wholeNumber = (least: number, most: number) =>
  checked(
    `a whole number from ${least} to ${most}`,
    text => /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most,
  ).transform(Number);

/** Names with commas between them, each with a letter or a digit; none in an empty text. */
export const nameList = (expected: string) =>
  checked(expected, text => namesIn(text).every(name => /^[^[\]{}"]*[\p{L}\p{N}][^[\]{}"]*$/u.test(name))).transform(
    namesIn,
  );

const namesIn = (text: string): string[] => (text === '' ? [] : text.split(',').map(name => name.trim()));

export const timeZone = () => checked('an IANA time zone such as Europe/Vienna', isTimeZone);

function isTimeZone(text: string): boolean {
  try {
    // Offsets such as +02:00 are refused: they have no daylight saving time.
    return (
      /^[A-Za-z]/.test(text) && new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== ''
    );
  } catch {
    return false;
  }
}

/** https, or http on loopback. User and password are refused, because fetch rejects URLs that contain them. */
export function isWebUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username || password) return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** A web URL that paths can be appended to. */
export function isSourceUrl(text: string): boolean {
  if (!isWebUrl(text)) return false;
  const { search, hash } = new URL(text);
  return !search && !hash;
}

export function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol);
}
