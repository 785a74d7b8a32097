/**
 * Normal forms of single values, as exact text that Postgres casts without rounding. Each function returns the text, null for
 * "none" (`null`, and for numbers, dates and stamps `""`; for dates and stamps also `0000-00-00`), or throws `BadValue`.
 */
export class BadValue extends Error {}

const INT8_MAX = 9223372036854775807n;
/** numeric takes 131072 digits before the point and 16383 after it; no business value comes near, so more is a fault of the source. */
const MAX_EXPONENT = 1000;
const MAX_DIGITS = 1000;
/** As deep as unknown fields may nest. Postgres' own limit is its stack (54001 at some 6,000 levels), which would end the run. */
export const MAX_DEPTH = 64;
const NUMBER = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,6}))?$|^([+-]?)\.(\d+)(?:[eE]([+-]?\d{1,6}))?$/;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
/** Zones as Postgres takes them, up to 15:59 (22009 beyond); it refuses fractions of some hundred digits (22007). */
const STAMP =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,20})?)?\s*(Z|z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?$/;
const NO_DATE = /^0000-00-00(?:[T ][\d:.]*)?$/;
/** What Postgres cannot hold: NUL characters, and halves of surrogate pairs. */
const UNCLEAN = /[\0\p{Surrogate}]/gu;
/** The same as `JSON.stringify` writes it (a backslash that was meant so matches too). */
const MAYBE_UNCLEAN = /\\u(?:0000|d[89a-f])/i;

/** A decimal without exponent, leading or trailing zeros: `1500`, `-0.05`. Equal numbers have equal text. */
export function decimalText(value: unknown): string | null {
  if (value === null || value === '') return null;
  if (typeof value !== 'number' && typeof value !== 'string')
    throw new BadValue(`expected a number, got ${kindOf(value)}`);
  const match = NUMBER.exec(String(value).trim());
  if (!match) throw new BadValue('expected a number such as 1500 or "1500.00"');
  const negative = (match[1] ?? match[5]) === '-';
  const exponent = Number(match[4] ?? match[7] ?? 0);
  if (Math.abs(exponent) > MAX_EXPONENT) throw new BadValue(`a number with an exponent of ${exponent} is out of range`);
  const whole = match[2] ?? '';
  const digits = whole + (match[3] ?? match[6] ?? '');
  if (digits.length > MAX_DIGITS) throw new BadValue(`a number of ${digits.length} digits is out of range`);
  const point = whole.length + exponent;
  const before = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '';
  const after = point >= 0 ? digits.slice(point) : '0'.repeat(-point) + digits;
  const left = before.replace(/^0+/, '') || '0';
  const right = after.replace(/0+$/, '');
  const text = right ? `${left}.${right}` : left;
  return negative && text !== '0' ? `-${text}` : text;
}

/** A whole number that fits `bigint`. */
export function integerText(value: unknown): string | null {
  const text = decimalText(value);
  if (text === null) return null;
  if (text.includes('.')) throw new BadValue('expected a whole number');
  const number = BigInt(text);
  if (number > INT8_MAX || number < -INT8_MAX - 1n) throw new BadValue('a whole number beyond 64 bits');
  return text;
}

/** `YYYY-MM-DD`; a time of day behind it is cut off, never shifted by a zone. */
export function dateText(value: unknown): string | null {
  if (value === null || value === '') return null;
  if (typeof value !== 'string') throw new BadValue(`expected a date, got ${kindOf(value)}`);
  const text = value.trim();
  if (NO_DATE.test(text)) return null;
  const match = DATE.exec(text);
  const known = match ? isDay(match[1], match[2], match[3]) : isStamp(text);
  if (!known) throw new BadValue('expected a date such as 2026-01-15');
  return text.slice(0, 10);
}

/** An ISO time stamp; one without a zone stays without, and is read in the source's zone when it is stored. */
export function stampText(value: unknown): string | null {
  if (value === null || value === '') return null;
  if (typeof value !== 'string') throw new BadValue(`expected a time stamp, got ${kindOf(value)}`);
  const text = value.trim();
  if (NO_DATE.test(text)) return null;
  if (!isStamp(text)) throw new BadValue('expected a time stamp such as 2026-01-15T10:00:00Z');
  return text;
}

function isStamp(text: string): boolean {
  const [matched, year, month, day, hour, minute, second] = STAMP.exec(text) ?? [];
  if (matched === undefined || !isDay(year, month, day)) return false;
  return Number(hour) <= 23 && Number(minute) <= 59 && Number(second ?? 0) <= 60;
}

/** Text without what Postgres cannot hold: NUL characters are removed, lone surrogates become U+FFFD. */
export function plainText(value: unknown): string | null {
  if (value === null) return null;
  // With all its digits: JavaScript would write a number of 22 digits as 1e+21.
  if (typeof value === 'number') return decimalText(value);
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') throw new BadValue(`expected text, got ${kindOf(value)}`);
  return cleanText(value);
}

export function cleanText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '') : whole;
}

/** How many characters `cleanText` removes or replaces. */
export function uncleanIn(text: string): number {
  return text.isWellFormed() && !text.includes('\0') ? 0 : (text.match(UNCLEAN)?.length ?? 0);
}

/** JSON that `jsonb` accepts: the same cleaning inside keys and strings, with the number of characters that fell to it. */
export function jsonText(value: unknown): { text: string; cleaned: number } {
  if (nestsDeeperThan(MAX_DEPTH, value)) throw new BadValue(`nested deeper than ${MAX_DEPTH} levels`);
  const text = JSON.stringify(value);
  if (!MAYBE_UNCLEAN.test(text)) return { text, cleaned: 0 };
  let cleaned = 0;
  const clean = (unclean: string) => {
    cleaned += uncleanIn(unclean);
    return cleanText(unclean);
  };
  const clear = JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'string') return clean(inner);
    if (inner === null || typeof inner !== 'object' || Array.isArray(inner)) return inner;
    const entries = Object.entries(inner);
    if (entries.every(([key]) => uncleanIn(key) === 0)) return inner;
    const renamed = new Map(entries.map(([key, item]) => [clean(key), item]));
    if (renamed.size < entries.length)
      throw new BadValue('two names that differ only in characters that cannot be stored');
    return Object.fromEntries(renamed);
  });
  return { text: clear, cleaned };
}

/** A whole row as JSON for `jsonb`, its names in order, so that equal rows have equal text. */
export function rowText(value: unknown): string {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new BadValue(`expected an object, got ${kindOf(value)}`);
  const { text } = jsonText(value);
  return JSON.stringify(JSON.parse(text), (_name, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** JSON exactly as it came, escapes for what no text can hold, and however deep it nests. */
export function wholeJson(value: unknown): string {
  return nestsDeeperThan(MAX_DEPTH, value) ? deepJson(value) : JSON.stringify(value);
}

/** Without recursion, which ends at some thousand levels. */
function deepJson(root: unknown): string {
  const parts: string[] = [];
  const todo: ({ text: string } | { value: unknown })[] = [{ value: root }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    if ('text' in next) {
      parts.push(next.text);
      continue;
    }
    const { value } = next;
    if (value === null || typeof value !== 'object') {
      parts.push(JSON.stringify(value));
      continue;
    }
    const list = Array.isArray(value);
    parts.push(list ? '[' : '{');
    todo.push({ text: list ? ']' : '}' });
    for (const [index, [name, item]] of Object.entries(value).reverse().entries()) {
      if (index > 0) todo.push({ text: ',' });
      todo.push({ value: item });
      if (!list) todo.push({ text: `${JSON.stringify(name)}:` });
    }
  }
  return parts.join('');
}

function nestsDeeperThan(most: number, root: unknown): boolean {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true;
    level = level.flatMap(value => (value !== null && typeof value === 'object' ? Object.values(value) : []));
  }
  return false;
}

function isDay(year = '', month = '', day = ''): boolean {
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day) && Number(year) > 0;
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : value === undefined ? 'nothing' : typeof value;
}
