/** Marks a decimal text to be written as a bare JSON number: a double would round it. */
const MARK = '\u0001raw:';
const MARKED = /"\\u0001raw:(-?\d+(?:\.\d+)?)"/g;

/** A value that `toJson` writes as a number with exactly these digits. */
export function exactNumber(digits: string): string {
  return MARK + digits;
}

/** JSON text of a value, with every `exactNumber` written out in full. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\u0001raw:') ? text.replace(MARKED, '$1') : text;
}
