import { SluiceError } from '../../src/errors.ts';
import type { Point } from '../variants/point.ts';
import { variantPoints } from '../variants/variant-points.ts';
import { type Variants, variantNames } from '../variants/variants.ts';
import { splitNameValues } from './name-values.ts';

/** Parses `paging=capped,order=shuffled`. An error of kind `usage` lists the valid names or values. */
export function parseVariants(text: string): Partial<Variants> {
  const parsed: Record<string, string> = {};
  for (const [name, value] of splitNameValues(text)) {
    const known = variantNames.find(candidate => candidate === name);
    if (known === undefined) {
      throw new SluiceError('usage', `Unknown variant "${name}".`, { next: `Variants: ${variantNames.join(', ')}.` });
    }
    const { values: described, also }: Point<string> = variantPoints[known];
    const values = Object.keys(described);
    if (!values.includes(value) && !also?.test(value)) {
      throw new SluiceError('usage', `Unknown value "${value}" for variant "${name}".`, {
        next: `Values of ${name}: ${values.join(', ')}.`,
      });
    }
    parsed[name] = value;
  }
  return parsed as Partial<Variants>;
}
