const ZERO = '0'.charCodeAt(0);

/** Loops, because `/0+$/` takes quadratic time over zeros that another digit follows: 1e-1000 cost half a million steps. */
export function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === ZERO) end--;
  return digits.slice(0, end);
}
