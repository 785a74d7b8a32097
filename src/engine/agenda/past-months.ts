import { DAY } from '../../clock.ts';
import { type List, oldestProof } from '../coverage/list.ts';
import { slicingOf } from '../job.ts';

/** A list that a report may sum up. */
export type NamedList = List & { readonly name: string };

/** All months are read again after this time, whatever has changed: a report may follow rules that its rows do not show. */
const MOST_AGE = 28 * DAY;

/** The lists that a month of this one sums up; none for any other list. */
export function summedLists<L extends NamedList>({ job }: List, lists: readonly L[]): L[] {
  const summed = slicingOf(job, 'month')?.sumsUp ?? {};
  return lists.filter(({ name }) => name in summed);
}

/**
 * Whether the past months of a report hold until the rows that they sum up change: all months were read lately, and every list they sum up
 * was read in full, so that its changes are known.
 */
export function monthsHold(list: List, lists: readonly NamedList[], now: number): boolean {
  const readAt = oldestProof(list);
  const summed = summedLists(list, lists);
  const expected = Object.keys(slicingOf(list.job, 'month')?.sumsUp ?? {}).length;
  const areKnown = expected > 0 && summed.length === expected && summed.every(each => oldestProof(each) !== null);
  return areKnown && readAt !== null && now - readAt < MOST_AGE;
}
