import { HOUR } from '../../../clock.ts';
import { isKind, SluiceError } from '../../../errors.ts';
import { holdsNothing, isOffered, type List, wasAnswered } from '../../coverage/list.ts';
import type { Resource } from '../../resource.ts';

/** How long ago another list may have been answered. */
const ANSWERED_LATELY_MS = HOUR;

/** Statuses for a list that does not exist, or that this key may not read. */
const NOT_THERE: ReadonlySet<number | undefined> = new Set([403, 404, 405]);

/**
 * `absent` for an optional list that was never read, and for a list that has no rows: some sources answer 404 for an empty list. Any
 * other list must exist.
 */
export const noSuchList = (resource: Resource): SluiceError =>
  isOffered(resource) && !holdsNothing(resource) ? listIsGone(resource) : unanswered(resource);

/** Neither this list nor, as far as is known, another one was answered. */
export const unanswered = ({ job }: Resource): SluiceError =>
  new SluiceError('absent', `The source does not offer ${job.path}.`);

/**
 * The other lists for which the source answers at this moment (epoch ms): where there are any, the 404 of a list is its own. One that has rows
 * is believed to have none left only if another was answered lately and since the loop began: before, the address may have been another.
 */
export function othersAnswering<L extends List>(
  list: List,
  all: readonly L[],
  { at, begunAt }: { at: number; begunAt: number },
): L[] {
  const since = holdsNothing(list) ? 0 : Math.max(begunAt, at - ANSWERED_LATELY_MS);
  return all.filter(other => other !== list && wasAnswered(other, since));
}

/** The list and all that were answered lately answer 404: a deployment or a proxy does, and nothing is known of their rows. */
export const nothingAnswered = ({ job }: Resource): SluiceError =>
  new SluiceError('unavailable', `The source answers 404 for ${job.path} and for everything else that was requested.`, {
    next: 'Check that the source is up and SOURCE_URL is right; the next run reads the list again.',
    status: 404,
  });

/** Page 1 of the list is empty, though the list is not. */
export const firstPageHidden = ({ job }: Resource): SluiceError =>
  new SluiceError('failed', `${job.path} shows rows, but none of them on page 1.`, {
    next: 'The source seems to count its pages from another number. Please report this, with the answer to page=0 if there is one.',
  });

export const listIsGone = ({ job }: Resource): SluiceError =>
  new SluiceError('failed', `The source has no ${job.path}.`, {
    next: 'Check the address in SOURCE_URL, and whether this installation offers the list.',
  });

/** Returns `absent` if the error means that the source does not offer an optional list, else the error itself. */
export const orAbsent = (resource: Resource, error: unknown): unknown =>
  !isOffered(resource) && isKind(error, 'refused') && NOT_THERE.has(error.status) ? noSuchList(resource) : error;
