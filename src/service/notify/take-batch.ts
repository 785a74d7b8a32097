/** A change that a receiver wants: its number, and what is sent of it. */
export interface Found {
  readonly number: string;
  readonly data: string;
}

export interface BatchLimit {
  readonly changes: number;
  readonly bytes: number;
}

/**
 * Of the changes found up to the number `to`, in order, the first that fit in one message, and the last number that is dealt with once they are
 * delivered. One alone may be larger than the limit: without it, no later one would ever be delivered. `sizeOf`: of what is sent of a change, in bytes.
 */
export function takeBatch(
  found: readonly Found[],
  to: number,
  { changes, bytes }: BatchLimit,
  sizeOf: (data: string) => number = data => Buffer.byteLength(data),
) {
  let size = 0;
  const cut = found.findIndex(({ data }, at) => {
    size += sizeOf(data) + 1;
    return at > 0 && (at >= changes || size > bytes);
  });
  const first = found[cut];
  return first === undefined ? { changes: found, to } : { changes: found.slice(0, cut), to: Number(first.number) - 1 };
}
