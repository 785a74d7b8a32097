/**
 * What tells the rows of a list apart: `17` is an id, `#9f…/2` the second of several equal rows without an id,
 * `?9223372036854775808` a record with an id that cannot be stored, `?9f…` (32 digits of a hash) one whose id could not be read, `?9f…/2` the
 * second of several equal ones.
 */

/** A row without an id is keyed by a hash of its content. */
export const isContentKey = (key: string): boolean => key.startsWith('#');
export const isUnreadableKey = (key: string): boolean => key.startsWith('?');
/** Nothing tells equal records apart whose id could not be read. */
export const isNumberedKey = (key: string): boolean => /^\?[0-9a-f]{32}(?:\/|$)/.test(key);

/** The part of a content key that equal rows share. */
export const contentOf = (key: string): string => key.slice(0, key.lastIndexOf('/'));
/** Which of the equal rows it is, from 1. */
export const ordinalOf = (key: string): number => Number(key.slice(key.lastIndexOf('/') + 1));

/** The `ordinal`th, from 1, of equal records whose id could not be read. */
export const unreadableKey = (first: string, ordinal: number): string =>
  ordinal === 1 ? first : `${first}/${ordinal}`;

/** The keys as they would be if these rows were all there is: equal rows are numbered from 1. */
export function renumbered(keys: readonly string[]): string[] {
  const counts = new Map<string, number>();
  const next = (of: string) => {
    const ordinal = (counts.get(of) ?? 0) + 1;
    counts.set(of, ordinal);
    return ordinal;
  };
  return keys.map(key => {
    if (isContentKey(key)) return `${contentOf(key)}/${next(contentOf(key))}`;
    if (!isNumberedKey(key)) return key;
    const first = key.split('/')[0] as string;
    return unreadableKey(first, next(first));
  });
}
