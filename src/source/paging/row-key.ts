/**
 * What tells the rows of a list apart: `17` is an id, `#9f…/2` the second of several equal rows without an id,
 * `?9f…` a record whose id could not be read.
 */

export const isContentKey = (key: string): boolean => key.startsWith('#');
export const isUnreadableKey = (key: string): boolean => key.startsWith('?');

/** The part of a content key that equal rows share. */
export const contentOf = (key: string): string => key.slice(0, key.lastIndexOf('/'));
/** Which of the equal rows it is, from 1. */
export const ordinalOf = (key: string): number => Number(key.slice(key.lastIndexOf('/') + 1));

/** The keys as they would be if these rows were all there is: equal rows are numbered from 1. */
export function renumbered(keys: readonly string[]): string[] {
  const counts = new Map<string, number>();
  return keys.map(key => {
    if (!isContentKey(key)) return key;
    const content = contentOf(key);
    const ordinal = (counts.get(content) ?? 0) + 1;
    counts.set(content, ordinal);
    return `${content}/${ordinal}`;
  });
}
