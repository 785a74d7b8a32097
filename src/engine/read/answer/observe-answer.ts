import { SluiceError } from '../../../errors.ts';
import { readAgain } from '../../../next-steps.ts';
import { partition } from '../../coverage/list.ts';
import { type Weight, weightOf } from '../../profile/answer-weight.ts';
import type { Observation } from '../../profile/observation.ts';
import { idsChanged, observePage } from '../../profile/observe-page.ts';
import { looksCut } from '../../profile/page-length.ts';
import { isContentKeyed, type Resource } from '../../resource.ts';
import { within } from '../../slices/date-windows.ts';
import type { Slice } from '../../slices/slice.ts';
import type { PageAnswer } from '../fetch/fetch-page.ts';

/**
 * New facts about the list that an answer shows. `pages`: the list's own page count. `previous`: the preceding page. Throws if
 * the rows began or ceased to carry their id.
 */
export function observeAnswer(
  resource: Resource,
  answer: PageAnswer,
  { pages, previous = null }: { pages: number | null; previous?: PageAnswer | null },
): Observation[] {
  const { name, job, table, profile } = resource;
  const context = { keyField: job.key, mayLackIds: isContentKeyed(table), pages, previous };
  const change = idsChanged(profile, answer, context);
  if (change !== null) {
    const carry = change === 'disappeared' ? 'no longer carry' : 'now carry';
    throw new SluiceError(
      'failed',
      `The rows of ${name} ${carry} the field "${job.key}", so they cannot be matched with the stored rows.`,
      { next: `To read the list again from scratch: ${readAgain(name, resource.source)}` },
    );
  }
  return observePage(profile, answer, context);
}

/** Whether the source may have cut the answer off; see `looksCut`. */
export const mayBeCut = (resource: Resource, answer: PageAnswer, slice: Slice): boolean =>
  looksCut(resource.profile, answer, knownRows(resource, slice));

/** The weight of the answer to a filter that came without a count and without pages; null for others, and for one that came before: it was judged then. */
export const weightAlone = ({ profile }: Resource, { rows, meta, known }: PageAnswer): Weight | null =>
  meta === undefined && known === undefined && profile.paging !== 'until empty' ? weightOf(rows) : null;

/** Rows of the slice at its last reading, summed over the windows within it. */
export function knownRows(resource: Resource, slice: Slice): number {
  if (slice.by !== 'date') return 0;
  const parts = partition(resource).filter(
    ({ slice: part }) => part.by === 'date' && within(part, slice.from, slice.to),
  );
  return parts.reduce((sum, entry) => sum + (entry.rows ?? 0), 0);
}
