import type { Variants } from '../variants/variants.ts';

/** The last id of 64 bits, the first beyond them, and one of 20 digits, by the id of the row that shows it. */
const EDGE_IDS: ReadonlyMap<number, string> = new Map([
  [1, '9223372036854775807'],
  [2, '9223372036854775808'],
  [3, '12345678901234567890'],
]);

/** How a list writes the id of a row or of a customer; null where it is the row's own. */
export const edgeId = (id: unknown, { ids }: Variants): string | null =>
  ids === 'edge' ? (EDGE_IDS.get(id as number) ?? null) : null;

/** The row's own id of one as it is shown. */
export function ownId(shown: string, variants: Variants): number {
  for (const [id, edge] of EDGE_IDS) if (shown === edge && edgeId(id, variants) !== null) return id;
  return edgeId(Number(shown), variants) === null ? Number(shown) : Number.NaN;
}

/** Positions by ascending id as they are by the id that is shown: those at the edge come last. */
export function byShownId(found: Int32Array, ids: Int32Array): Int32Array {
  const isEdge = (position: number) => EDGE_IDS.has(ids[position] as number);
  return Int32Array.from([...found.filter(position => !isEdge(position)), ...found.filter(isEdge)]);
}
