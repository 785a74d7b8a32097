/** `1000,100` as numbers. */
export const numbers = (text: string): number[] => text.split(',').map(Number);

/** Rows per page that the sandbox offers. */
export function pageSize(text: string): '100' | '1000' {
  if (text === '100' || text === '1000') return text;
  throw new RangeError(`Rows per page: 100 or 1000, not ${text}.`);
}
