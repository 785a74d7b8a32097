import { foundAbsentAt, partition } from '../coverage/list.ts';
import type { Slice } from '../slices/slice.ts';
import { NO_PROGRESS } from './choice.ts';
import { type AgendaFacts, questionsOf } from './questions.ts';
import type { Asking } from './worth.ts';

/** Something that is read again and again, and shows its share of a list's changes. */
export type Part = Pick<Asking, 'rate' | 'age' | 'requests'>;

/**
 * What shows the changes of a list: its slices and what is watched. Totals are left out, as each only leads to the reading of a slice. Empty
 * where a part of the list was never read: nothing is known of its changes then.
 */
export function partsOf(facts: AgendaFacts): Part[] {
  const { list, wish } = facts;
  if (foundAbsentAt(list) !== null || partition(list).some(({ provenAt }) => provenAt === null)) return [];
  // What is being read or was just read belongs to it, too.
  const asIfIdle = { list: { ...list, reading: new Set<Slice>() }, wish: { ...wish, state: NO_PROGRESS }, missing: [] };
  return questionsOf({ ...facts, ...asIfIdle }).filter(({ choice }) => choice.slice.by !== 'total');
}
