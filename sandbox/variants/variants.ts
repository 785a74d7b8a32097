import { variantPoints } from './variant-points.ts';

type Points = typeof variantPoints;
type VariantName = keyof Points;

/** One value for each point. */
export type Variants = { [N in VariantName]: keyof Points[N]['values'] };

export const variantNames = Object.keys(variantPoints) as VariantName[];

/** The points that cannot change while a sandbox runs. */
const fixedPoints = [
  'rate-window',
  'rejected-count',
  'states',
  'undated',
  'digits',
  'dates',
  'new-ids',
  'backdated',
] as const;

/** Fills in the likely behaviour wherever none is given. */
export function completeVariants(given: Partial<Variants> = {}): Variants {
  const likely = Object.fromEntries(variantNames.map(name => [name, variantPoints[name].likely]));
  return { ...likely, ...given } as Variants;
}

/** All points and values as text for people; `*` marks the likely value. */
export function describeVariants(): string {
  return variantNames
    .map(name => {
      const { about, values, likely } = variantPoints[name];
      const lines = Object.entries(values).map(
        ([value, description]) => `  ${value === likely ? '*' : ' '} ${value}: ${description}`,
      );
      return [`${name}: ${about}`, ...lines].join('\n');
    })
    .join('\n');
}

/** The variants of a running sandbox. */
export interface VariantState {
  readonly current: () => Variants;
  /** Throws a RangeError for a fixed point. */
  readonly change: (given: Partial<Variants>) => void;
}

export function createVariantState(given: Partial<Variants> | undefined): VariantState {
  let variants = completeVariants(given);
  return {
    current: () => variants,
    change(changed) {
      const fixed = fixedPoints.filter(name => changed[name] !== undefined && changed[name] !== variants[name]);
      if (fixed.length > 0) throw new RangeError(`Fixed when the sandbox is opened: ${fixed.join(', ')}.`);
      variants = { ...variants, ...changed };
    },
  };
}
