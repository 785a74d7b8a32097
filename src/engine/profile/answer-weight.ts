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
  const bytes = rows.map(row => JSON.stringify(row).length);
  const lines = rows.map(linesOf);
  return {
    all: { bytes: sum(bytes), lines: sum(lines) },
    heaviest: { bytes: Math.max(0, ...bytes), lines: Math.max(0, ...lines) },
  };
}

/** No source limits its answers to fewer. */
const LEAST: Readonly<Record<Measure, number>> = { bytes: 10_000, lines: 20 };

/** An answer that a limit has cut off is lighter than another by less than a row, and one row may be heavier than all that it shows. */
const MARGIN = 0.1;

/** Whether this is nearly as great as the heaviest answer to the same filter, so that a limit may have cut it off. */
export function mayBeCutByWeight(
  longest: ReadonlyMap<string, number>,
  field: string,
  { all, heaviest }: Weight,
  { canCut }: { readonly canCut: boolean },
): boolean {
  return MEASURES.some(measure => {
    const known = longest.get(nameOf(field, measure)) ?? 0;
    // A day cannot be cut. Together with a few rows of another it is heavier, if it is not cut off.
    const margin = canCut ? Math.max(heaviest[measure], MARGIN * known) : 0;
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

function linesOf(row: unknown): number {
  const lists = Object.values(row ?? {}).filter(Array.isArray);
  return lists.length === 0 ? 0 : Math.max(1, ...lists.map(list => list.length));
}

const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0);
