import { type Finding, told, untold } from '../findings/finding.ts';
import { shapeOf } from '../lists/documented-lists.ts';
import { askCount, type Lists } from '../lists/read-lists.ts';
import type { Asker } from '../requests/requester.ts';
import type { Row } from '../requests/send-request.ts';

const ALL_TIME = { date_from: '1000-01-01', date_to: '9998-12-31' };

/** `undated`: rows that come without a date, or that no window returns though the whole list counts them. */
export async function probeUndated(asker: Asker, lists: Lists, windowsWork: boolean): Promise<Finding> {
  const dated = lists.offered.filter(({ name, rows }) => shapeOf(name).dated && rows.length > 0);
  if (dated.length === 0) return untold('undated', 'no list with dates has a row');
  // Where no row has the field, that is how the list is; it says nothing of single rows.
  const shown = dated.find(({ rows }) => rows.some(hasDate) && !rows.every(hasDate));
  if (shown) {
    const count = shown.rows.filter(row => !hasDate(row)).length;
    return told('undated', 'yes', `${shown.name}: ${count} of ${shown.rows.length} rows have no date`);
  }
  const counted = windowsWork ? dated.filter(({ total }) => total !== undefined) : [];
  for (const seen of counted) {
    const within = await askCount(asker, seen, ALL_TIME);
    if (within === undefined || within === seen.total) continue;
    // The list may have moved meanwhile.
    const now = await askCount(asker, seen, {});
    if (now !== undefined && within < now && now === seen.total)
      return told('undated', 'yes', `${seen.name}: ${now} rows, of which all windows together hold ${within}`);
  }
  const rows = dated.reduce((sum, each) => sum + each.rows.filter(hasDate).length, 0);
  const all = counted.length === dated.length ? ', and windows hold all that are counted' : '';
  return told('undated', 'no', `all of ${rows} rows have a date${all}`);
}

function hasDate({ date }: Row): boolean {
  return date !== undefined && date !== null && date !== '' && !String(date).startsWith('0000-00-00');
}
