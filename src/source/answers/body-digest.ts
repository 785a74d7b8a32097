import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { isObject, parseJson } from './json.ts';

/** The digest of a list's body without its `meta`, which changes with rows of other pages, and that `meta`. */
export interface BodyDigest {
  readonly digest: string;
  readonly meta: unknown;
}

/** Far longer than any `meta` with what may come behind it. */
const MOST_BEHIND = 2000;

/**
 * Digests a body without decoding it; null where it may hold a `meta` other than behind its rows, or is not JSON in ASCII or UTF-8. `seed`: all else
 * that its rows depend on.
 */
export function digestBody(bytes: Buffer, seed: string): BodyDigest | null {
  // In UTF-16, every second byte of this is 0.
  if (bytes[0] !== OPENING || bytes[1] === 0) return null;
  const at = bytes.lastIndexOf(META);
  if (at < 0) return { digest: digestOf(seed, bytes, ''), meta: undefined };
  const end = bytes.subarray(at);
  const behind = end.length <= MOST_BEHIND && isUtf8(end) ? behindRows(end.toString('utf8')) : undefined;
  if (behind === undefined || !('meta' in behind)) return null;
  const { meta, ...others } = behind;
  return { digest: digestOf(seed, bytes.subarray(0, at), JSON.stringify(others)), meta };
}

const OPENING = 0x7b;
const META = '"meta"';

/** The fields from `meta` to the end of the body; undefined if those are not fields of the body itself: more closes than was opened. */
function behindRows(text: string): Record<string, unknown> | undefined {
  try {
    const fields = parseJson(`{${text}`);
    return isObject(fields) ? fields : undefined;
  } catch {
    return undefined;
  }
}

const digestOf = (seed: string, bytes: Buffer, behind: string): string =>
  createHash('sha256').update(`${seed}\n`).update(bytes).update(behind).digest('base64');
