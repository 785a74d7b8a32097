import { isObject } from './json.ts';

const INDEX = /^(?:0|[1-9]\d*)$/;

/**
 * A list that arrives as an object, with the positions or ids of its entries as names, as PHP writes a list with gaps:
 * `{"0": .., "2": ..}`. Any other value as it is.
 */
export function asList(value: unknown): unknown {
  if (!isObject(value)) return value;
  for (const name in value) if (!INDEX.test(name)) return value;
  const entries = Object.values(value);
  // An empty object may be anything.
  return entries.length > 0 ? entries : value;
}
