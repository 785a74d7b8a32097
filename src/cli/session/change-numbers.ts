import { InvalidArgumentError } from 'commander';
import { SluiceError } from '../../errors.ts';
import { type Numbers, whyNotFrom } from '../../warehouse/reports/changes.ts';

/** The number of a change, as an option gives it. */
export function parseChangeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected the number of a change.');
}

/** Kind `usage` for a change that is not kept any more, or that there is not yet. `command`: takes `--from`. */
export function refuseFrom(numbers: Numbers, from: number, command: string): void {
  const why = whyNotFrom(numbers, from);
  if (why !== null) throw new SluiceError('usage', why, { next: `The oldest: ${command} --from ${numbers.first}` });
}
