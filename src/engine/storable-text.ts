import { BadValue, decimalText, kindOf } from '../source/answers/values.ts';

/** Text and JSON as Postgres holds them; `source/answers/values.ts` handles numbers, dates and timestamps. */

/** As deep as unknown fields may nest. Postgres' own limit is its stack (54001 at some 6,000 levels), which would end the run. */
export const MAX_DEPTH = 64;
/** NUL characters and halves of surrogate pairs, which Postgres cannot hold, as JSON writes them; an escaped backslash matches too. */
const MAYBE_UNCLEAN = /\\u(?:0000|d[89a-f])/i;

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
  if (text.isWellFormed() && !text.includes('\0')) return 0;
  let count = 0;
  for (const character of text) if (character === '\0' || !character.isWellFormed()) count++;
  return count;
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
