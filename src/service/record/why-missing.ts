import { type confirmationOf, READINGS_OF_HALF } from '../../engine/deletion/is-deleted.ts';
import type { MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { plural } from '../format.ts';

/** Why a missing row is not deleted yet, in one sentence. `relatedBy`: the field that its related rows share. */
export function whyMissing(
  { half = false, readings = 1, unreadable = false, value }: MissingRow,
  confirmation: ReturnType<typeof confirmationOf>,
  relatedBy: string | null,
): string {
  if (unreadable)
    return 'A record that cannot be read appeared when it went missing, and may be this row; it stays until that record is corrected.';
  switch (confirmation) {
    case 'address':
      return 'It is deleted as soon as its own address answers that there is no such record.';
    case 'value':
      return `It is deleted as soon as the list of rows with ${relatedBy} ${value} lacks it, too; else it has only moved.`;
    case 'neighbours':
      return 'It is deleted as soon as a second reading of the ids around it lacks it, too.';
    case 'cover':
      return half
        ? `At least half of its part went missing with it, so ${READINGS_OF_HALF} readings must lack it; ${plural(readings, 'reading')} did so far.`
        : 'It may have moved to another part, so it is deleted once every part was read again and none shows it.';
  }
}
