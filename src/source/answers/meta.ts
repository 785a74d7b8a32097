/** The readable fields of a list answer's `meta`. */
export interface Meta {
  currentPage?: number;
  totalPages?: number;
  totalRecords?: number;
}

export function readMeta(value: unknown): Meta | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const meta = value as Record<string, unknown>;
  const counts = {
    currentPage: count(meta.current_page),
    totalPages: count(meta.total_pages),
    totalRecords: count(meta.total_records),
  };
  const known = Object.entries(counts).filter(([, number]) => number !== undefined);
  return known.length > 0 ? (Object.fromEntries(known) as Meta) : undefined;
}

/** No list is longer, and the books count in 32 bits. */
const MOST = 2 ** 31 - 1;

/** A number may also come as a string of digits; anything else, and what no list counts, is absent. */
function count(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= MOST ? number : undefined;
}
