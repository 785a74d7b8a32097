import { parse, stringify } from 'lossless-json';

/** A number as it was written. It has no fields of its own, so that whoever walks through the value finds none. */
class ExactNumber {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  static textOf(value: unknown): string | undefined {
    return value instanceof ExactNumber ? value.#text : undefined;
  }
}

/** The text of a number of the value that `changeJson` passes on; undefined for anything else. */
export const numberText = (value: unknown): string | undefined => ExactNumber.textOf(value);

const NUMBERS = [
  { test: (value: unknown) => value instanceof ExactNumber, stringify: (value: unknown) => numberText(value) ?? '' },
];

/**
 * JSON text with `change` applied to its value, and every number as it was written; undefined where that changes nothing but fields that are null.
 * Throws a `SyntaxError` on text that is not JSON.
 */
export function changeJson(text: string, change: (value: unknown) => unknown): string | undefined {
  const value = parse(text, null, {
    parseNumber: number => new ExactNumber(number),
    onDuplicateKey: ({ newValue }) => newValue,
  });
  const changed = change(value);
  if (changed === value || textOf(changed, withoutNulls) === textOf(value, withoutNulls)) return undefined;
  return textOf(changed);
}

const withoutNulls = (_name: string, value: unknown): unknown => (value === null ? undefined : value);

const textOf = (value: unknown, replacer: typeof withoutNulls | null = null): string =>
  stringify(value, replacer, undefined, NUMBERS) ?? 'null';
