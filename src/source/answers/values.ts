/**
 * Normal forms of an answer's single values, as exact text. Each function returns the text, or null for an empty value (`null`; for
 * numbers, dates and time stamps also `""`; for dates and time stamps also `0000-00-00`; for time stamps also 0). It throws `BadValue` for anything else.
 */
export class BadValue {
  readonly message: string;

  /** Unlike an error, it has no stack, which takes long to gather: an answer may hold thousands. */
  constructor(message: string) {
    this.message = message;
  }
}

const INT8_MAX = 9223372036854775807n;
/** Postgres' numeric takes 131072 digits before the point and 16383 after it. No business value comes near: more is an error of the source. */
const MAX_EXPONENT = 1000;
const MAX_DIGITS = 1000;
const NUMBER = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,6}))?$|^([+-]?)\.(\d+)(?:[eE]([+-]?\d{1,6}))?$/;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
/** Postgres accepts zones up to 15:59 (22009 beyond), and refuses fractions of some hundred digits (22007). */
const STAMP =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,20})?)?\s*(Z|z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?$/;
const NO_DATE = /^0000-00-00(?:[T ][\d:.]*)?$/;

/** A decimal without exponent, leading or trailing zeros: `1500`, `-0.05`. Equal numbers have equal text. */
export function decimalText(value: unknown): string | null {
  if (value === null || value === '') return null;
  // JavaScript writes such numbers as they are wanted here.
  if (typeof value === 'number' && (value === 0 || (Math.abs(value) >= 1e-6 && Math.abs(value) < 1e21)))
    return String(value);
  if (typeof value === 'string') {
    const end = endOfPlain(value);
    if (end > 0) return value.slice(0, end);
  }
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
  const right = withoutTrailingZeros(after);
  const text = right ? `${left}.${right}` : left;
  return negative && text !== '0' ? `-${text}` : text;
}

const ZERO = 48;
const NINE = 57;
const POINT = 46;

/**
 * Where a number such as `1500.00` ends in its normal form; 0 for any other text, and for what is not certain to be a number. Nearly all
 * amounts are such texts, and an expression for each took about as long as parsing the JSON.
 */
function endOfPlain(text: string): number {
  const { length } = text;
  const first = text.charCodeAt(0);
  if (length > MAX_DIGITS || first < ZERO || first > NINE) return 0;
  let point = -1;
  for (let index = 1; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code === POINT && point < 0) point = index;
    else if (code < ZERO || code > NINE) return 0;
  }
  // A zero at the front is one too many, unless it stands alone.
  const whole = point < 0 ? length : point;
  if (first === ZERO && whole > 1) return 0;
  let end = length;
  if (point >= 0) while (text.charCodeAt(end - 1) === ZERO) end--;
  return end - 1 === point ? point : end;
}

/** A whole number that fits `bigint`. */
export function integerText(value: unknown): string | null {
  const text = decimalText(value);
  if (text === null) return null;
  if (text.includes('.')) throw new BadValue('expected a whole number');
  if (text.length < 16) return text;
  const number = BigInt(text);
  if (number > INT8_MAX || number < -INT8_MAX - 1n) throw new BadValue('a whole number beyond 64 bits');
  return text;
}

/** A whole number that fits `integer`. */
export function integer32Text(value: unknown): string | null {
  const text = integerText(value);
  if (text !== null && Number(text) !== (Number(text) | 0)) throw new BadValue('a whole number beyond 32 bits');
  return text;
}

/** `YYYY-MM-DD`; a time of day after it is dropped, and never shifts the date by a zone. */
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

/**
 * An ISO time stamp; a number, or text of digits, is one since the epoch. One without a zone keeps none, and is interpreted in the source's
 * zone when it is stored.
 */
export function stampText(value: unknown): string | null {
  if (value === null || value === '') return null;
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new BadValue(`expected a time stamp, got ${kindOf(value)}`);
  const text = String(value).trim();
  if (NO_DATE.test(text) || text === '0') return null;
  const epoch = EPOCH.exec(text);
  if (epoch) return epochText(epoch);
  if (!isStamp(text)) throw new BadValue('expected a time stamp such as 2026-01-15T10:00:00Z');
  return text;
}

/** Seconds or milliseconds of the years 1973 to 2286; shorter or longer digits may be something else, such as 20260115. */
const EPOCH = /^([1-9]\d{8,9})(?:(\d{3})|(\.\d{1,9}))?$/;

function epochText([, seconds, millis, fraction]: RegExpExecArray): string {
  const digits = millis === undefined ? (fraction ?? '') : `.${millis}`;
  return `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}${digits.replace(/\.?0*$/, '')}Z`;
}

function isStamp(text: string): boolean {
  const [matched, year, month, day, hour, minute, second] = STAMP.exec(text) ?? [];
  if (matched === undefined || !isDay(year, month, day)) return false;
  return Number(hour) <= 23 && Number(minute) <= 59 && Number(second ?? 0) <= 60;
}

function isDay(year = '', month = '', day = ''): boolean {
  const [inYear, inMonth, inDay] = [Number(year), Number(month), Number(day)];
  return inYear > 0 && inMonth >= 1 && inMonth <= 12 && inDay >= 1 && inDay <= daysIn(inYear, inMonth);
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Names the type of a value, for a message. */
export function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : value === undefined ? 'nothing' : typeof value;
}

/** Loops, because `/0+$/` takes quadratic time over zeros that another digit follows: 1e-1000 cost half a million steps. */
export function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === ZERO) end--;
  return digits.slice(0, end);
}
