import { VERSION } from '../../../version.ts';
import type { Db } from '../../../warehouse/database/database.ts';
import { type KnownAnswer, readAnswers, rowsBefore } from '../../../warehouse/rows/write/known-answers.ts';
import { pageSize, partition } from '../../coverage/list.ts';
import { hasVanished } from '../../profile/field-drift.ts';
import { fieldsText } from '../../profile/observe-rows.ts';
import { isRestless } from '../../profile/observe-volatile.ts';
import { placeOf, type Resource } from '../../resource.ts';
import { overlap, type Slice } from '../../slices/slice.ts';

/** The answers of one list to one filter that came before. */
export interface KnownAnswers {
  /** All that their rows depend on beside their bytes. */
  readonly seed: string;
  /** The filter, '' for none. */
  readonly query: string;
  readonly at: (page: number, limit: number) => KnownAnswer | undefined;
  /** The one that shows the row at this offset of the list and at least so many behind it. */
  readonly showing: (offset: number, more: number) => KnownAnswer | undefined;
}

/**
 * Looks up the answers that came before for a slice. Null where an answer has to be read and compared whatever came before: its rows may be
 * missing or held or lie in quarantine, a field of theirs has vanished or is volatile, or their table does not show which windows they lie in. `offsets`:
 * how many rows of the list may lie before them; default: any number.
 */
export type Recall = (
  resource: Resource,
  slice: Slice,
  query: Readonly<Record<string, string>>,
  offsets?: { readonly from: number; readonly to: number },
) => Promise<KnownAnswers | null>;

/** `fewestRows`: lists with smaller pages are read and compared each time. */
export const createRecall =
  (db: Db, timeZone: string, fewestRows = FEWEST_ROWS): Recall =>
  async (resource, slice, query, { from, to } = ANY) => {
    if (pageSize(resource, fewestRows) < fewestRows || !mayKnow(resource)) return null;
    const filter = new URLSearchParams(query).toString();
    const answers = wasRead(resource, slice)
      ? await readAnswers(db, placeOf(resource), { query: filter, from, to: Math.min(to, ANY.to), most: MOST_KNOWN })
      : [];
    const byOffset = new Map(answers.map(answer => [rowsBefore(answer), answer]));
    return {
      seed: [VERSION, timeZone, resource.declarationDigest].join('\n'),
      query: filter,
      at(page, limit) {
        const answer = byOffset.get(rowsBefore({ page, limit }));
        return answer?.page === page && answer.fields === fieldsText(resource.profile.fields) ? answer : undefined;
      },
      showing: (offset, more) =>
        answers.findLast(each => rowsBefore(each) <= offset && offset + more < rowsBefore(each) + each.keys.length),
    };
  };

/** At 100 rows a page, an unchanged re-read takes as long either way, and a first load a twelfth less without; at 1000, a re-read takes 0.7 of the time. */
const FEWEST_ROWS = 250;

const ANY = { from: 0, to: 2 ** 31 - 1 };

/** Bounds the memory of a reading: as many rows as most lists have in all. */
const MOST_KNOWN = 1000;

const mayKnow = ({ strategy, profile, holdsMissing, quarantined, heldFields }: Resource): boolean =>
  ![...profile.fields].some(field => hasVanished(profile, field)) &&
  // Such answers differ each time; where they come again, that has to be seen.
  !isRestless(profile.volatile) &&
  strategy.membership !== 'window' &&
  !holdsMissing &&
  !quarantined &&
  heldFields.size === 0;

/** What was never read has no answer. */
const wasRead = (resource: Resource, slice: Slice): boolean =>
  partition(resource).some(
    entry => entry.provenAt !== null && entry.slice.by === slice.by && overlap(entry.slice, slice),
  );
