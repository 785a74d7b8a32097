import type { Observation } from './observation.ts';

/** What a source may limit instead of rows: the bytes of an answer, or, where it joins them, rows and their lines together. */
const MEASURES = ['bytes', 'lines'] as const;

type Measure = (typeof MEASURES)[number];

/** How heavy an answer is, and the heaviest of its rows. */
export interface Weight {
  readonly all: Readonly<Record<Measure, number>>;
  readonly heaviest: Readonly<Record<Measure, number>>;
}

export function weightOf(rows: readonly unknown[]): Weight {
  const all = { bytes: 0, lines: 0 };
  const heaviest = { bytes: 0, lines: 0 };
  let barren = 0;
  for (const row of rows) {
    const weight = { bytes: JSON.stringify(row).length, lines: linesOf(row) };
    if (weight.lines === 0) barren++;
    for (const measure of MEASURES) {
      all[measure] += weight[measure];
      heaviest[measure] = Math.max(heaviest[measure], weight[measure]);
    }
  }
  // Rows without lines count where others have some.
  if (heaviest.lines > 0) all.lines += barren;
  return { all, heaviest };
}

/** No source limits its answers to fewer. */
const LEAST: Readonly<Record<Measure, number>> = { bytes: 10_000, lines: 20 };

/** An answer that a limit has cut off is lighter than another by less than a row, and one row may be heavier than all that it shows. */
const MARGIN = 0.1;

/** Whether some answer to this filter was so heavy that a limit may have cut it off. */
export const mayBeLimited = (longest: ReadonlyMap<string, number>, field: string): boolean =>
  MEASURES.some(measure => (longest.get(nameOf(field, measure)) ?? 0) >= LEAST[measure]);

/** Whether this is nearly as great as the heaviest answer to the same filter, so that a limit may have cut it off. */
export function mayBeCutByWeight(
  longest: ReadonlyMap<string, number>,
  field: string,
  { all, heaviest }: Weight,
): boolean {
  return MEASURES.some(measure => {
    const known = longest.get(nameOf(field, measure)) ?? 0;
    const margin = Math.max(heaviest[measure], MARGIN * known);
    return all[measure] >= LEAST[measure] && all[measure] + margin >= known;
  });
}

export const observeWeight = (longest: ReadonlyMap<string, number>, field: string, { all }: Weight): Observation[] =>
  MEASURES.filter(measure => all[measure] > (longest.get(nameOf(field, measure)) ?? 0)).map(measure => ({
    trait: `longest ${nameOf(field, measure)}` as const,
    value: `${all[measure]}` as const,
    evidence: `an answer by ${field} had ${all[measure]} ${measure}`,
  }));

const nameOf = (field: string, measure: Measure): string => `${field} in ${measure}`;

const linesOf = (row: unknown): number =>
  Object.values(row ?? {}).reduce(
    (most: number, value) => (Array.isArray(value) ? Math.max(most, value.length) : most),
    0,
  );
